// Native transactions and staking under the real CometBFT: what cosmjs signs, receipts over HTTP,
// WebSocket and in batches, delegations, a validator that joins and leaves, one whose key is used
// twice, and a node that is killed.
import fs from 'node:fs'
import path from 'node:path'
import { fromRlp, type Hex, keccak256, pad, parseEther, toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { bech32 } from '../../ts/rpc/bech32.ts'
import { type Foreign, foreign, missing, program, rest, types } from './cosmos-clients.ts'
import { hearth, rpc, tempHome } from './harness.ts'
import { NetworkNode, type Ports } from './network-nodes.ts'
import { basePort } from './network-ports.ts'
import { STAKING, stakingAbi } from './staking.ts'
import { proven } from './trie-proof.ts'
import { until } from './waiting.ts'

if (missing !== undefined) console.log(`skipped: ${missing}`)

const CHAIN = 7357
const ACCOUNTS = 20
const [VALIDATORS, FOLLOWERS] = [4, 2]
const MNEMONIC = 'test test test test test test test test test test test junk'
const GAS_PRICE = 20_000_000_000n
const FEE = { amount: [{ denom: 'wei', amount: (GAS_PRICE * 1_000_000n).toString() }], gas: '1000000' }

/**
 * Unbonding time in seconds: over while the tests between an undelegation and its withdrawal run,
 * and long enough for evidence of a key that signed twice, which is as old as this at most.
 */
const UNBONDING_SECONDS = 25

const BASE_PORT = basePort('cosmosNatives')
const STAKING_PATH = '/cosmos/staking/v1beta1'

interface AllPorts extends Ports {
  readonly ws: number
  readonly rest: number
}

interface Node {
  readonly node: NetworkNode
  readonly ports: AllPorts
}

/** A receipt of chain_getTransactionReceipt, as far as the tests look into it. */
interface Receipt {
  readonly status: Hex
  readonly type: Hex
  readonly blockNumber: Hex
  readonly transactionIndex: Hex
  readonly logs: readonly { readonly synthetic?: boolean; readonly data: Hex; readonly logIndex: Hex }[]
}

/** An answer of eth_getProof, as far as the tests look into it. */
interface Proof {
  readonly accountProof: readonly Hex[]
  readonly storageHash: Hex
  readonly storageProof: readonly { readonly value: Hex; readonly proof: readonly Hex[] }[]
}

const account = (index: number) => mnemonicToAccount(MNEMONIC, { addressIndex: index })
const ether = (amount: number) => ({ denom: 'wei', amount: parseEther(String(amount)).toString() })
const hashOf = (transactionHash: string): Hex => `0x${transactionHash.toLowerCase()}`

describe.skipIf(missing !== undefined)('a network', () => {
  const dir = tempHome()
  const nodes: Node[] = []
  /** Balance of account 4 once it has undelegated 5 ether. */
  let afterUndelegation = 0n
  const first = () => nodes[0] as Node
  const base = () => `http://127.0.0.1:${first().ports.rest}`

  beforeAll(async () => {
    const network = ['--validators', String(VALIDATORS), '--followers', String(FOLLOWERS), '--dev-accounts', String(ACCOUNTS)]
    const made = hearth([
      'testnet',
      ...network,
      '--dir',
      path.join(dir, 'net'),
      '--base-port',
      String(BASE_PORT),
      '--chain-id',
      String(CHAIN),
      '--unbonding-seconds',
      String(UNBONDING_SECONDS),
    ])
    expect(made.status, made.stderr).toBe(0)
    const testnet = JSON.parse(fs.readFileSync(path.join(dir, 'net/testnet.json'), 'utf8')) as {
      nodes: { name: string; home: string; ports: AllPorts }[]
    }
    for (const { name, home, ports } of testnet.nodes) {
      const flags = [
        `--consensus.cometbft_bin=${program}`,
        '--consensus.timeout_commit=300ms',
        '--evm.enabled_legacy_chain_apis=chain_getTransactionReceipt,chain_getChainAddress,chain_getCosmosTx',
        '--metrics.enabled=false',
      ]
      nodes.push({ node: new NetworkNode(name, home, ports, flags), ports })
    }
    for (const { node } of nodes) node.start()
    for (const { node } of nodes) await node.reaches(2)
  })
  afterAll(async () => {
    for (const { node } of nodes) await node.end()
    fs.rmSync(dir, { recursive: true, force: true })
  })

  async function connected(index: number, { node } = first()): Promise<{ readonly client: Foreign; readonly address: string }> {
    const path = foreign('@cosmjs/crypto').stringToPath(`m/44'/60'/0'/0/${index}`)
    const { DirectEthSecp256k1HdWallet } = foreign('@cosmjs/proto-signing')
    const wallet = await DirectEthSecp256k1HdWallet.fromMnemonic(MNEMONIC, { prefix: 'hearth', hdPaths: [path] })
    const { GasPrice, SigningStargateClient } = foreign('@cosmjs/stargate')
    const comet = await foreign('@cosmjs/tendermint-rpc').Comet38Client.connect(node.comet)
    const options = { gasPrice: GasPrice.fromString(`${GAS_PRICE}wei`), broadcastPollIntervalMs: 200 }
    const client = await SigningStargateClient.createWithSigner(comet, wallet, options)
    return { client, address: (await wallet.getAccounts())[0].address }
  }

  const receiptOf = async (transactionHash: string, { node } = first()): Promise<Receipt | null> =>
    node.ask('chain_getTransactionReceipt', hashOf(transactionHash))

  /** Votes of a validator by its key in base64; undefined where it has none. */
  async function power(key: string): Promise<number | undefined> {
    const { validators } = await first().node.comets<{ validators: { pub_key: { value: string }; voting_power: string }[] }>('validators')
    const found = validators.find((validator) => validator.pub_key.value === key)
    return found && Number(found.voting_power)
  }

  const overWebSocket = ({ ports }: Node, body: unknown): Promise<Foreign> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${ports.ws}`)
      socket.on('error', reject)
      socket.on('open', () => socket.send(JSON.stringify(body)))
      socket.on('message', (data) => {
        resolve(JSON.parse(data.toString()))
        socket.close()
      })
    })

  it('takes what cosmjs signs, and refuses what it should', async () => {
    const [{ client, address }, { address: to }] = [await connected(0), await connected(1)]
    expect(await first().node.ask('chain_getChainAddress', account(0).address)).toBe(address)
    expect(await client.getChainId()).toBe(`hearth-${CHAIN}`)
    const before = BigInt((await client.getBalance(to, 'wei')).amount)
    // 'auto' simulates the transaction for its gas.
    const sent = await client.sendTokens(address, to, [{ denom: 'wei', amount: '12345' }], 'auto', 'a memo')
    expect([sent.code, sent.rawLog]).toEqual([0, ''])
    expect(BigInt((await client.getBalance(to, 'wei')).amount)).toBe(before + 12345n)
    expect((await client.getTx(sent.transactionHash)).code).toBe(0)
    const found = (await rest(base(), `/cosmos/tx/v1beta1/txs/${sent.transactionHash}`)).json
    expect(found.tx.body.messages[0]).toMatchObject({ '@type': '/cosmos.bank.v1beta1.MsgSend', to_address: to })
    await expect(client.sendTokens(address, to, [{ denom: 'wei', amount: (10n ** 30n).toString() }], FEE)).rejects.toThrow(/insufficient/)
    const value = { fromAddress: address, toAddress: to, amount: [{ denom: 'wei', amount: '1' }] }
    const message = { typeUrl: '/cosmos.bank.v1beta1.MsgSend', value }
    const { accountNumber, sequence } = await client.getSequence(address)
    expect([accountNumber, sequence]).toEqual([0, 1])
    const raw = await client.sign(address, [message], FEE, '', { accountNumber, sequence: 99_999, chainId: `hearth-${CHAIN}` })
    const bytes = types('cosmos/tx/v1beta1/tx').TxRaw.encode(raw).finish()
    await expect(client.broadcastTx(bytes)).rejects.toThrow(/account sequence mismatch, expected 1, got 99999/)
  })

  it('shows a native transaction by one method alone', async () => {
    const [{ client, address }, { address: to }] = [await connected(2), await connected(3)]
    const sent = await client.sendTokens(address, to, [{ denom: 'wei', amount: '7' }], FEE)
    const hash = hashOf(sent.transactionHash)
    const receipt = (await receiptOf(sent.transactionHash)) as Receipt
    expect([receipt.status, receipt.type, Number(receipt.blockNumber)]).toEqual(['0x1', '0xffffffff', sent.height])
    expect(receipt.logs).toMatchObject([{ synthetic: true, data: toHex(7n, { size: 32 }) }])
    const call = (method: string, ...params: unknown[]) => ({ jsonrpc: '2.0', id: 1, method, params })
    const over = await overWebSocket(first(), call('chain_getTransactionReceipt', hash))
    expect(over.result).toEqual(receipt)
    const batch = [
      call('chain_getTransactionReceipt', hash),
      call('eth_getTransactionReceipt', hash),
      call('eth_getTransactionByHash', hash),
    ]
    const answers = await (
      await fetch(first().node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(batch) })
    ).json()
    expect((answers as { result: unknown }[]).map(({ result }) => result)).toEqual([receipt, null, null])
    const at = toHex(sent.height)
    const block = await first().node.ask<{ transactions: unknown[]; gasUsed: Hex; logsBloom: Hex }>('eth_getBlockByNumber', at, true)
    expect([block.transactions, block.gasUsed, block.logsBloom]).toEqual([[], '0x0', pad('0x', { size: 256 })])
    for (const method of ['eth_getBlockReceipts', 'debug_traceBlockByNumber', 'trace_block'])
      expect(await first().node.ask(method, at), method).toEqual([])
    expect(await first().node.ask('eth_getBlockTransactionCountByNumber', at)).toBe('0x0')
    expect(await first().node.ask('eth_getLogs', { fromBlock: at, toBlock: at })).toEqual([])
    expect((await rpc(first().node.url, 'debug_traceTransaction', [hash])).error).toMatchObject({
      code: -32000,
      message: `cannot trace a native transaction: ${hash} came from outside the EVM`,
    })
    expect(await receiptOf('ab'.repeat(32))).toBeNull()
  })

  it('delegates and undelegates, which changes the power', async () => {
    const { client, address } = await connected(4)
    const [validator] = (await rest(base(), `${STAKING_PATH}/validators`)).json.validators
    const { key } = validator.consensus_pubkey
    expect(await power(key)).toBe(10)
    const delegated = await client.delegateTokens(address, validator.operator_address, ether(5), FEE)
    expect([delegated.code, delegated.rawLog]).toEqual([0, ''])
    expect((await receiptOf(delegated.transactionHash))?.logs).toHaveLength(1)
    await until('the power rises', async () => (await power(key)) === 15)
    expect((await client.getDelegation(address, validator.operator_address)).amount).toBe(ether(5).amount)
    const undelegated = await client.undelegateTokens(address, validator.operator_address, ether(5), FEE)
    expect([undelegated.code, undelegated.rawLog]).toEqual([0, ''])
    await until('the power falls', async () => (await power(key)) === 10)
    expect(await client.getDelegation(address, validator.operator_address)).toBeNull()
    const at = toHex(undelegated.height)
    afterUndelegation = BigInt(await first().node.ask<Hex>('eth_getBalance', account(4).address, at))
  })

  /** The file of a node's ed25519 key. */
  const keyFile = ({ node }: Node) => path.join(node.home, 'cometbft/config/priv_validator_key.json')
  const keyOf = (node: Node): string => JSON.parse(fs.readFileSync(keyFile(node), 'utf8')).pub_key.value

  /** Makes a node a validator of the account's, with so much ether. */
  async function join(node: Node, index: number, amount: number): Promise<string> {
    const { client, address } = await connected(index)
    const operator = bech32('hearthvaloper', Buffer.from(account(index).address.slice(2), 'hex'))
    const { PubKey } = types('cosmos/crypto/ed25519/keys')
    const pubkey = { typeUrl: '/cosmos.crypto.ed25519.PubKey', value: PubKey.encode({ key: Buffer.from(keyOf(node), 'base64') }).finish() }
    const texts = { identity: '', website: '', securityContact: '', details: '' }
    const value = {
      description: { moniker: `of account ${index}`, ...texts },
      commission: { rate: '0', maxRate: '1', maxChangeRate: '1' },
      minSelfDelegation: '1',
      delegatorAddress: address,
      validatorAddress: operator,
      pubkey,
      value: ether(amount),
    }
    const message = { typeUrl: '/cosmos.staking.v1beta1.MsgCreateValidator', value }
    const made = await client.signAndBroadcast(address, [message], {
      ...FEE,
      gas: '2000000',
      amount: [{ denom: 'wei', amount: (GAS_PRICE * 2_000_000n).toString() }],
    })
    expect([made.code, made.rawLog]).toEqual([0, ''])
    await until('the new validator votes', async () => (await power(keyOf(node))) === amount)
    return operator
  }

  it('lets a fifth validator join and leave', async () => {
    const fifth = nodes[VALIDATORS] as Node
    const operator = await join(fifth, 5, 10)
    const head = await first().node.height()
    await until('a block of the fifth validator', async () => {
      for (let height = head; height <= (await first().node.height()); height++)
        if (((await first().node.block(height)) as unknown as { miner: Hex }).miner === account(5).address.toLowerCase()) return true
      return false
    })
    const { client, address } = await connected(5)
    const left = await client.undelegateTokens(address, operator, ether(10), FEE)
    expect([left.code, left.rawLog]).toEqual([0, ''])
    await until('it votes no more', async () => (await power(keyOf(fifth))) === undefined)
    const { validator } = (await rest(base(), `${STAKING_PATH}/validators/${operator}`)).json
    expect(validator).toMatchObject({ jailed: true, tokens: '0' })
  })

  it('removes a validator whose key signs twice', async () => {
    const [guilty, copy] = [nodes[VALIDATORS + 1] as Node, nodes[VALIDATORS] as Node]
    const operator = await join(guilty, 6, 10)
    const key = keyOf(guilty)
    expect(await copy.node.end()).toBe(0)
    fs.copyFileSync(keyFile(guilty), keyFile(copy))
    copy.node.start()
    await until('the validator is removed', async () => (await power(key)) === undefined)
    const { validator } = (await rest(base(), `${STAKING_PATH}/validators/${operator}`)).json
    expect(validator).toMatchObject({ jailed: true, tokens: parseEther('9.5').toString() })
    const { encodeFunctionData, decodeFunctionResult } = await import('viem')
    const data = encodeFunctionData({ abi: stakingAbi(), functionName: 'validator', args: [account(6).address] })
    const traced = await first().node.ask<{ output: Hex }>('debug_traceCall', { to: STAKING, data }, 'latest', { tracer: 'callTracer' })
    const read = decodeFunctionResult({ abi: stakingAbi(), functionName: 'validator', data: traced.output }) as Foreign
    expect([read.tombstoned, read.jailed, read.tokens, read.power]).toEqual([true, true, parseEther('9.5'), 0n])
    // operatorByConsensus of the contract: slot 3, by consensus address.
    const { address: consensus } = JSON.parse(fs.readFileSync(keyFile(guilty), 'utf8'))
    const slot = keccak256(`${pad(`0x${consensus}`)}${toHex(3, { size: 32 }).slice(2)}` as Hex)
    const { hash, stateRoot } = await first().node.ask<{ hash: Hex; stateRoot: Hex }>('eth_getBlockByNumber', 'latest', false)
    const { accountProof, storageHash, storageProof } = await first().node.ask<Proof>('eth_getProof', STAKING, [slot], { blockHash: hash })
    // Nonce, balance, root of the storage, hash of the code.
    expect((fromRlp(proven(stateRoot, STAKING, accountProof) as Hex, 'hex') as Hex[])[2]).toBe(storageHash)
    const value = proven(storageHash, slot, storageProof[0]?.proof as Hex[]) as Hex
    expect(fromRlp(value, 'hex')).toBe(account(6).address.toLowerCase())
    expect(storageProof[0]?.value).toBe(account(6).address.toLowerCase())
    await copy.node.end()
  })

  it('loses no native transaction when it is killed', async () => {
    const target = nodes[1] as Node
    const acknowledged: string[] = []
    const senders = await Promise.all([7, 8, 9].map((index) => connected(index)))
    let killed = false
    const lanes = senders.map(async ({ client, address }) => {
      for (let i = 0; i < 6; i++) {
        const sent = await client.sendTokens(address, address, [{ denom: 'wei', amount: '1' }], FEE)
        expect(sent.code).toBe(0)
        acknowledged.push(sent.transactionHash)
        if (!killed && i === 2) {
          killed = true
          await target.node.end('SIGKILL')
          target.node.start()
        }
      }
    })
    await Promise.all(lanes)
    expect(acknowledged).toHaveLength(18)
    await target.node.reaches(await first().node.height())
    for (const hash of acknowledged) expect(await receiptOf(hash, target)).toEqual(await receiptOf(hash))
  })

  it('pays an undelegation back by a withdrawal', async () => {
    const { client, address } = await connected(4)
    const balance = async () => BigInt((await client.getBalance(address, 'wei')).amount)
    await until('the withdrawal', async () => (await balance()) > afterUndelegation)
    expect(await balance()).toBe(afterUndelegation + parseEther('5'))
    // Other accounts are paid too.
    const own = account(4).address.toLowerCase()
    const paid: string[] = []
    for (let height = await first().node.height(); paid.length === 0 && height > 0; height--) {
      const { withdrawals } = (await first().node.block(height)) as unknown as { withdrawals: { address: Hex; amount: Hex }[] }
      paid.push(...withdrawals.filter(({ address }) => address === own).map(({ amount }) => amount))
    }
    expect(paid).toEqual([toHex(5_000_000_000)])
  })
})
