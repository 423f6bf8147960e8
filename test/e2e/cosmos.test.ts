// Clients of the Cosmos SDK against a network under the real CometBFT: cosmjs, gRPC, REST, receipts of
// native transactions, and transactions that go to the validator of their sender. Full run only.

import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Client, credentials } from '@grpc/grpc-js'
import { type Hex, keccak256, parseEther, toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownerOf } from '../../ts/rpc/owner.ts'
import { cometbftProgram, VERSIONS } from '../cometbft-programs.mjs'
import { clients } from './clients/install.ts'
import { hearth, rpc, tempHome } from './harness.ts'
import { NetworkNode } from './network-nodes.ts'
import { until } from './waiting.ts'

const FULL = process.env.HEARTH_TEST === 'full'
const CHAIN = 7357
const BASE_PORT = 29_800
const [VALIDATORS, FOLLOWERS] = [3, 1]
const SENDERS = 40
const MNEMONIC = 'test test test test test test test test test test test junk'
const GAS_PRICE = 20_000_000_000n

const installed = FULL ? await clients('cosmos') : { missing: 'the full run only' }
const cometbft = FULL ? await cometbftProgram(VERSIONS[0]) : { missing: 'the full run only' }
const missing = 'missing' in installed ? installed.missing : 'missing' in cometbft ? cometbft.missing : undefined

interface Ports {
  readonly http: number
  readonly rpc: number
  readonly metrics: number
  readonly grpc: number
  readonly rest: number
}

// biome-ignore lint/suspicious/noExplicitAny: packages that only the full run installs
type Foreign = any

describe.skipIf(missing !== undefined)(`a network${missing === undefined ? '' : ` (skipped: ${missing})`}`, () => {
  const dir = tempHome()
  const nodes: (NetworkNode & { ports: Ports; validator: boolean })[] = []
  let addresses: string[] = []
  let stargate: Foreign
  let signing: Foreign
  let comet: Foreign
  let types: (name: string) => Foreign

  beforeAll(async () => {
    const require = createRequire(path.join((installed as { dir: string }).dir, 'package.json'))
    stargate = require('@cosmjs/stargate')
    signing = require('@cosmjs/proto-signing')
    comet = require('@cosmjs/tendermint-rpc')
    types = (name) => require(`cosmjs-types/${name}`)
    const made = hearth([
      'testnet',
      ...['--validators', String(VALIDATORS), '--followers', String(FOLLOWERS)],
      ...['--dir', path.join(dir, 'net'), '--base-port', String(BASE_PORT)],
      ...['--chain-id', String(CHAIN), '--dev-accounts', String(SENDERS)],
    ])
    expect(made.status, made.stderr).toBe(0)
    const testnet = JSON.parse(fs.readFileSync(path.join(dir, 'net/testnet.json'), 'utf8')) as {
      nodes: { name: string; role: string; home: string; ports: Ports }[]
    }
    for (const { name, role, home, ports } of testnet.nodes) {
      const flags = [
        `--consensus.cometbft_bin=${(cometbft as { program: string }).program}`,
        '--consensus.timeout_commit=200ms',
        '--consensus.redirect=sender',
        '--evm.enabled_legacy_chain_apis=chain_getTransactionReceipt,chain_getChainAddress,chain_getEVMAddress,chain_getCosmosTx',
      ]
      const node = Object.assign(new NetworkNode(name, home, ports, flags), { ports, validator: role === 'validator' })
      nodes.push(node)
      node.start()
    }
    for (const node of nodes) await node.reaches(3)
    const { validators } = await (nodes[0] as NetworkNode).comets<{ validators: { address: string }[] }>('validators')
    addresses = validators.map(({ address }) => address.toLowerCase())
  }, 120_000)
  afterAll(async () => {
    for (const node of nodes) expect(await node.end()).toBe(0)
    fs.rmSync(dir, { recursive: true, force: true })
  })

  const follower = () => nodes.at(-1) as (typeof nodes)[number]
  const first = () => nodes[0] as (typeof nodes)[number]
  const rest = async (where: string, node = first()): Promise<Foreign> =>
    (await fetch(`http://127.0.0.1:${node.ports.rest}${where}`)).json()
  const wallet = (index: number): Promise<Foreign> =>
    signing.DirectEthSecp256k1HdWallet.fromMnemonic(MNEMONIC, {
      prefix: 'hearth',
      hdPaths: [require_('@cosmjs/crypto').stringToPath(`m/44'/60'/0'/0/${index}`)],
    })
  const require_ = (name: string): Foreign => createRequire(path.join((installed as { dir: string }).dir, 'package.json'))(name)
  const connected = async (index: number): Promise<{ client: Foreign; address: string }> => {
    const signer = await wallet(index)
    const [{ address }] = await signer.getAccounts()
    const client = await stargate.SigningStargateClient.createWithSigner(await comet.Comet38Client.connect(first().comet), signer, {
      gasPrice: stargate.GasPrice.fromString(`${GAS_PRICE}wei`),
    })
    return { client, address }
  }
  const FEE = { amount: [{ denom: 'wei', amount: (GAS_PRICE * 1_000_000n).toString() }], gas: '1000000' }

  it('lists its validators with their monikers, as the script of the specification reads them', async () => {
    const { validators, pagination } = await rest('/cosmos/staking/v1beta1/validators?pagination.limit=500')
    expect(validators.map((v: Foreign) => v.description.moniker).sort()).toEqual(['node0', 'node1', 'node2'])
    expect(pagination.next_key).toBeNull()
    for (const v of validators) {
      expect((await rest(`/cosmos/staking/v1beta1/validators/${v.operator_address}`)).validator).toEqual(v)
    }
  })

  it('answers gRPC with messages that cosmjs-types read', async () => {
    const { QueryValidatorsRequest, QueryValidatorsResponse } = types('cosmos/staking/v1beta1/query')
    const { GetLatestBlockResponse } = types('cosmos/base/tendermint/v1beta1/query')
    const client = new Client(`127.0.0.1:${first().ports.grpc}`, credentials.createInsecure())
    const same = (bytes: Buffer): Buffer => bytes
    const call = (method: string, request: Uint8Array): Promise<Buffer> =>
      new Promise((resolve, reject) =>
        client.makeUnaryRequest(method, same, same, Buffer.from(request), (e, body) => (e === null ? resolve(body as Buffer) : reject(e))),
      )
    try {
      const request = QueryValidatorsRequest.encode(QueryValidatorsRequest.fromPartial({ status: '' })).finish()
      const { validators } = QueryValidatorsResponse.decode(await call('/cosmos.staking.v1beta1.Query/Validators', request))
      expect(validators.map((v: Foreign) => v.description.moniker).sort()).toEqual(['node0', 'node1', 'node2'])
      const block = GetLatestBlockResponse.decode(await call('/cosmos.base.tendermint.v1beta1.Service/GetLatestBlock', new Uint8Array()))
      expect(block.block.header.chainId).toBe(`hearth-${CHAIN}`)
      expect(block.sdkBlock.header.proposerAddress).toMatch(/^hearthvalcons1/)
      await expect(call('/cosmos.gov.v1.Query/Proposals', new Uint8Array())).rejects.toMatchObject({ code: 12 })
    } finally {
      client.close()
    }
  })

  it('takes what cosmjs signs: balances, transfers, simulation, wrong sequences, no funds', async () => {
    const [{ client, address }, { address: to }] = [await connected(0), await connected(1)]
    const own = mnemonicToAccount(MNEMONIC, { addressIndex: 0 }).address
    const evm = await rpc(first().url, 'chain_getChainAddress', [own])
    expect(evm.result).toBe(address)
    const before = BigInt((await client.getBalance(to, 'wei')).amount)
    const sent = await client.sendTokens(address, to, [{ denom: 'wei', amount: '12345' }], 'auto', 'a memo')
    expect([sent.code, sent.rawLog]).toEqual([0, ''])
    expect(BigInt((await client.getBalance(to, 'wei')).amount)).toBe(before + 12345n)
    const hash: Hex = `0x${sent.transactionHash.toLowerCase()}`
    const receipt = (await rpc(first().url, 'chain_getTransactionReceipt', [hash])).result as Foreign
    expect([receipt.status, receipt.type, Number(receipt.blockNumber)]).toEqual(['0x1', '0xffffffff', sent.height])
    expect(receipt.logs[0]).toMatchObject({ synthetic: true, data: toHex(12345n, { size: 32 }) })
    expect((await rpc(first().url, 'eth_getTransactionReceipt', [hash])).result).toBeNull()
    const found = await rest(`/cosmos/tx/v1beta1/txs/${sent.transactionHash}`)
    expect(found.tx.body.messages[0]).toMatchObject({ '@type': '/cosmos.bank.v1beta1.MsgSend', to_address: to })
    expect((await client.getTx(sent.transactionHash)).code).toBe(0)
    await expect(client.sendTokens(address, to, [{ denom: 'wei', amount: (10n ** 30n).toString() }], FEE)).rejects.toThrow(/insufficient/)
    const { accountNumber } = await client.getSequence(address)
    const message = {
      typeUrl: '/cosmos.bank.v1beta1.MsgSend',
      value: { fromAddress: address, toAddress: to, amount: [{ denom: 'wei', amount: '1' }] },
    }
    const data = { accountNumber, sequence: 99_999, chainId: `hearth-${CHAIN}` }
    const raw = await client.sign(address, [message], FEE, '', data)
    const { TxRaw } = types('cosmos/tx/v1beta1/tx')
    await expect(client.broadcastTx(TxRaw.encode(raw).finish())).rejects.toThrow(/account sequence mismatch, expected \d+, got 99999/)
  }, 60_000)

  it('delegates and undelegates, which changes the voting power', async () => {
    const { client, address } = await connected(2)
    const [validator] = (await rest('/cosmos/staking/v1beta1/validators')).validators
    const power = async (): Promise<number> => {
      const { validators } = await first().comets<{ validators: { pub_key: { value: string }; voting_power: string }[] }>('validators')
      return Number(validators.find((v) => v.pub_key.value === validator.consensus_pubkey.key)?.voting_power)
    }
    const before = await power()
    const amount = { denom: 'wei', amount: parseEther('5').toString() }
    const delegated = await client.delegateTokens(address, validator.operator_address, amount, FEE)
    expect([delegated.code, delegated.rawLog]).toEqual([0, ''])
    await until('the power rises', async () => (await power()) === before + 5)
    expect((await client.getDelegation(address, validator.operator_address)).amount).toBe(amount.amount)
    const undelegated = await client.undelegateTokens(address, validator.operator_address, amount, FEE)
    expect([undelegated.code, undelegated.rawLog]).toEqual([0, ''])
    await until('the power falls', async () => (await power()) === before)
    expect(await client.getDelegation(address, validator.operator_address)).toBeNull()
  }, 60_000)

  it('sends each transaction of a follower to the validator of its sender, and counts it', async () => {
    const answers = await Promise.all(
      Array.from({ length: SENDERS - 10 }, async (_, i) => {
        const account = mnemonicToAccount(MNEMONIC, { addressIndex: i + 10 })
        const raw = await account.signTransaction({
          type: 'legacy',
          chainId: CHAIN,
          nonce: 0,
          gas: 21_000n,
          gasPrice: GAS_PRICE,
          to: `0x${'ee'.repeat(20)}`,
          value: 1n,
        })
        const response = await fetch(follower().url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [raw] }),
        })
        expect(response.headers.get('x-hearth-redirected-to')).toBe(ownerOf(account.address, addresses))
        expect(((await response.json()) as Foreign).result).toBe(keccak256(raw))
        return keccak256(raw)
      }),
    )
    for (const hash of answers)
      await until('its receipt', async () => (await rpc(follower().url, 'eth_getTransactionReceipt', [hash])).result !== null)
    const page = await (await fetch(`http://127.0.0.1:${follower().ports.metrics}/metrics`)).text()
    const counted = /^evmrpc_redirected_requests_total\{endpoint="eth_sendRawTransaction",connection="http"\} (\d+)$/m.exec(page)
    expect(Number(counted?.[1])).toBe(answers.length)
  }, 60_000)
})
