// Queries of the Cosmos SDK's clients against a validator under the real CometBFT: each over REST,
// gRPC and abci_query with one answer, which cosmjs-types read; pages, heights, failures.
import fs from 'node:fs'
import path from 'node:path'
import { encodeFunctionData, type Hex, parseEther, toHex } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bech32 } from '../../ts/rpc/bech32.ts'
import { abciQuery, type Foreign, foreign, Grpc, jsonOf, missing, program, rest, types } from './cosmos-clients.ts'
import { hearth, tempHome } from './harness.ts'
import { NetworkNode } from './network-nodes.ts'
import { basePort } from './network-ports.ts'
import { STAKING, stakingAbi } from './staking.ts'

if (missing !== undefined) console.log(`skipped: ${missing}`)

const CHAIN = 7357
const MNEMONIC = 'test test test test test test test test test test test junk'
const GAS_PRICE = 20_000_000_000n
const BASE_PORT = basePort('cosmosQueries')
/** The operator of the first validator, and seconds of an unbonding. */
const [OPERATOR, UNBONDING]: [Hex, number] = [`0x${'a1'.repeat(20)}`, 1_814_400]
const NOBODY: Hex = `0x${'77'.repeat(20)}`

const text = (prefix: string, address: Hex): string => bech32(prefix, Buffer.from(address.slice(2), 'hex'))
const account = (index: number) => mnemonicToAccount(MNEMONIC, { addressIndex: index })

describe.skipIf(missing !== undefined)('a validator', () => {
  const dir = tempHome()
  const home = path.join(dir, 'home')
  const ports = { http: BASE_PORT, ws: BASE_PORT + 1, rpc: BASE_PORT + 2, p2p: BASE_PORT + 3, grpc: BASE_PORT + 4, rest: BASE_PORT + 5 }
  const node = new NetworkNode('validator', home, ports, [
    `--consensus.cometbft_bin=${program}`,
    '--consensus.timeout_commit=200ms',
    `--evm.http_port=${ports.http}`,
    `--evm.ws_port=${ports.ws}`,
    `--consensus.rpc_port=${ports.rpc}`,
    `--consensus.p2p_port=${ports.p2p}`,
    `--grpc.port=${ports.grpc}`,
    `--rest.port=${ports.rest}`,
    '--metrics.enabled=false',
  ])
  const grpc = new Grpc(`127.0.0.1:${ports.grpc}`)
  const base = `http://127.0.0.1:${ports.rest}`
  const [DELEGATOR, OTHER] = [account(0), account(1)]
  /**
   * The operators, the first validator's at first, and the height with all that the tests look at.
   */
  let [operators, height]: [string[], number] = [[], 0]

  /** A transaction to the staking contract; resolves to the block that has it. */
  async function send(index: number, name: string, args: readonly unknown[], value = 0n): Promise<number> {
    const signer = account(index)
    const nonce = Number(await node.ask<Hex>('eth_getTransactionCount', signer.address, 'pending'))
    const data = encodeFunctionData({ abi: stakingAbi(), functionName: name, args })
    const fees = { type: 'legacy', chainId: CHAIN, nonce, gas: 2_000_000n, gasPrice: GAS_PRICE } as const
    const raw = await signer.signTransaction({ ...fees, to: STAKING, value, data })
    return node.receipt(await node.ask<Hex>('eth_sendRawTransaction', raw))
  }

  beforeAll(async () => {
    const network = ['--chain-id', String(CHAIN), '--dev-accounts', '8', '--operator', OPERATOR]
    const made = hearth(['init', '--cometbft', '--home', home, ...network])
    expect(made.status, made.stderr).toBe(0)
    node.start()
    await node.reaches(2)
    for (const index of [2, 3, 4]) {
      const description = [`validator ${index}`, 'identity', 'https://example.org', 'security@example.org', 'details']
      await send(index, 'createValidator', [toHex(index, { size: 32 }), description, 5n * 10n ** 16n], parseEther('1'))
    }
    operators = [text('hearthvaloper', OPERATOR), ...[2, 3, 4].map((index) => text('hearthvaloper', account(index).address))]
    await send(0, 'delegate', [OPERATOR], parseEther('3'))
    await send(0, 'delegate', [account(2).address], parseEther('0.5'))
    await send(1, 'delegate', [OPERATOR], parseEther('2'))
    await send(0, 'undelegate', [OPERATOR, parseEther('1')])
    await send(0, 'undelegate', [OPERATOR, parseEther('0.25')])
    height = await send(1, 'undelegate', [OPERATOR, parseEther('0.75')])
    await node.reaches(height + 1)
  })
  afterAll(async () => {
    grpc.close()
    expect(await node.end()).toBe(0)
    fs.rmSync(dir, { recursive: true, force: true })
  })

  /** A request and its answer as cosmjs-types have them. */
  const messagesOf = (query: string): { readonly request: Foreign; readonly response: Foreign } => {
    const [service = '', method = ''] = query.split('/')
    const parts = service.split('.')
    const last = parts.pop()
    const file = types(`${parts.join('/')}/${parts[1] === 'tx' ? 'service' : 'query'}`)
    const prefix = last === 'Query' ? 'Query' : ''
    const named = (kind: string): Foreign => file[`${prefix}${method}${kind}`] ?? file[`${method}${kind}`]
    return { request: named('Request'), response: named('Response') }
  }
  const STAKING_QUERY = 'cosmos.staking.v1beta1.Query'
  const S = '/cosmos/staking/v1beta1'
  const [delegator, other] = [text('hearth', DELEGATOR.address), text('hearth', OTHER.address)]
  const first = () => operators[0] as string
  const page = { limit: 2n, offset: 0n, key: new Uint8Array(), countTotal: true, reverse: false }

  /** Every query that the core answers: its name, its path in REST and its request in protobuf. */
  const CASES: readonly (readonly [string, () => string, () => object])[] = [
    [`${STAKING_QUERY}/Validators`, () => `${S}/validators`, () => ({})],
    [`${STAKING_QUERY}/Validators`, () => `${S}/validators?pagination.limit=500`, () => ({ pagination: { limit: 500n } })],
    [
      `${STAKING_QUERY}/Validators`,
      () => `${S}/validators?status=BOND_STATUS_BONDED&pagination.limit=2&pagination.count_total=true&unknown=1`,
      () => ({ status: 'BOND_STATUS_BONDED', pagination: page }),
    ],
    [
      `${STAKING_QUERY}/Validators`,
      () => `${S}/validators?pagination.reverse=true&pagination.offset=1&pagination.limit=2`,
      () => ({ pagination: { ...page, offset: 1n, countTotal: false, reverse: true } }),
    ],
    [`${STAKING_QUERY}/Validator`, () => `${S}/validators/${first()}`, () => ({ validatorAddr: first() })],
    [`${STAKING_QUERY}/ValidatorDelegations`, () => `${S}/validators/${first()}/delegations`, () => ({ validatorAddr: first() })],
    [
      `${STAKING_QUERY}/ValidatorUnbondingDelegations`,
      () => `${S}/validators/${first()}/unbonding_delegations`,
      () => ({ validatorAddr: first() }),
    ],
    [
      `${STAKING_QUERY}/Delegation`,
      () => `${S}/validators/${first()}/delegations/${delegator}`,
      () => ({ delegatorAddr: delegator, validatorAddr: first() }),
    ],
    [
      `${STAKING_QUERY}/UnbondingDelegation`,
      () => `${S}/validators/${first()}/delegations/${delegator}/unbonding_delegation`,
      () => ({ delegatorAddr: delegator, validatorAddr: first() }),
    ],
    [`${STAKING_QUERY}/DelegatorDelegations`, () => `${S}/delegations/${delegator}`, () => ({ delegatorAddr: delegator })],
    [
      `${STAKING_QUERY}/DelegatorUnbondingDelegations`,
      () => `${S}/delegators/${delegator}/unbonding_delegations`,
      () => ({ delegatorAddr: delegator }),
    ],
    [`${STAKING_QUERY}/DelegatorValidators`, () => `${S}/delegators/${delegator}/validators`, () => ({ delegatorAddr: delegator })],
    [
      `${STAKING_QUERY}/DelegatorValidator`,
      () => `${S}/delegators/${delegator}/validators/${first()}`,
      () => ({ delegatorAddr: delegator, validatorAddr: first() }),
    ],
    [`${STAKING_QUERY}/Pool`, () => `${S}/pool`, () => ({})],
    [`${STAKING_QUERY}/Params`, () => `${S}/params`, () => ({})],
    ['cosmos.bank.v1beta1.Query/AllBalances', () => `/cosmos/bank/v1beta1/balances/${other}`, () => ({ address: other })],
    [
      'cosmos.bank.v1beta1.Query/Balance',
      () => `/cosmos/bank/v1beta1/balances/${other}/by_denom?denom=wei`,
      () => ({ address: other, denom: 'wei' }),
    ],
    ['cosmos.bank.v1beta1.Query/SpendableBalances', () => `/cosmos/bank/v1beta1/spendable_balances/${other}`, () => ({ address: other })],
    ['cosmos.bank.v1beta1.Query/DenomsMetadata', () => '/cosmos/bank/v1beta1/denoms_metadata', () => ({})],
    ['cosmos.bank.v1beta1.Query/DenomMetadata', () => '/cosmos/bank/v1beta1/denoms_metadata/wei', () => ({ denom: 'wei' })],
    ['cosmos.bank.v1beta1.Query/Params', () => '/cosmos/bank/v1beta1/params', () => ({})],
    ['cosmos.auth.v1beta1.Query/Account', () => `/cosmos/auth/v1beta1/accounts/${other}`, () => ({ address: other })],
    ['cosmos.auth.v1beta1.Query/AccountInfo', () => `/cosmos/auth/v1beta1/account_info/${other}`, () => ({ address: other })],
    ['cosmos.auth.v1beta1.Query/Params', () => '/cosmos/auth/v1beta1/params', () => ({})],
    ['cosmos.auth.v1beta1.Query/Bech32Prefix', () => '/cosmos/auth/v1beta1/bech32', () => ({})],
    ['cosmos.base.node.v1beta1.Service/Config', () => '/cosmos/base/node/v1beta1/config', () => ({})],
    ['cosmos.base.node.v1beta1.Service/Status', () => '/cosmos/base/node/v1beta1/status', () => ({})],
  ]

  it.each(CASES)('%s has one answer over REST, gRPC and abci_query', async (query, where, request) => {
    const messages = messagesOf(query)
    const data = messages.request.encode(messages.request.fromPartial(request())).finish()
    const [over, binary, abci] = await Promise.all([
      rest(base, where(), height),
      grpc.call(query, data, height),
      abciQuery(node.comet, `/${query}`, data, height),
    ])
    expect([over.status, over.height, binary.height], JSON.stringify(over.json)).toEqual([200, String(height), String(height)])
    expect({ code: abci.code, log: abci.log, height: abci.height }).toEqual({ code: 0, log: '', height })
    expect(abci.value.equals(binary.bytes)).toBe(true)
    const answer = messages.response.decode(binary.bytes)
    expect(over.json).toEqual(jsonOf(answer))
  })

  it('lists validators with monikers, and each by its address', async () => {
    const { validators, pagination } = (await rest(base, `${S}/validators?pagination.limit=500`, height)).json
    expect(validators.map((v: Foreign) => v.description.moniker)).toEqual(['node0', 'validator 2', 'validator 3', 'validator 4'])
    expect(validators.map((v: Foreign) => v.operator_address)).toEqual(operators)
    expect(validators.map((v: Foreign) => v.tokens)).toEqual([
      '13000000000000000000',
      '1500000000000000000',
      ...Array(2).fill(`${10n ** 18n}`),
    ])
    expect(validators[1]).toMatchObject({
      consensus_pubkey: {
        '@type': '/cosmos.crypto.ed25519.PubKey',
        key: Buffer.from(toHex(2, { size: 32 }).slice(2), 'hex').toString('base64'),
      },
      delegator_shares: '1500000000000000000.000000000000000000',
      description: { identity: 'identity', website: 'https://example.org', security_contact: 'security@example.org', details: 'details' },
      commission: { commission_rates: { rate: '0.050000000000000000', max_rate: '1.000000000000000000' } },
      min_self_delegation: '1',
    })
    expect(pagination).toEqual({ next_key: null, total: '0' })
    for (const v of validators) expect((await rest(base, `${S}/validators/${v.operator_address}`, height)).json).toEqual({ validator: v })
  })

  it('pages by key: the pages are the list', async () => {
    const seen: string[] = []
    let key: string | null = ''
    while (key !== null) {
      const where: string = `${S}/validators?pagination.limit=1&pagination.key=${encodeURIComponent(key)}`
      const { validators, pagination } = (await rest(base, where, height)).json
      seen.push(...validators.map((v: Foreign) => v.operator_address))
      expect(validators.length).toBe(1)
      key = pagination.next_key
    }
    expect(seen).toEqual(operators)
  })

  it('shows what is delegated and what is on its way back', async () => {
    const { delegation_responses: list } = (await rest(base, `${S}/validators/${first()}/delegations`, height)).json
    const shown = list.map((d: Foreign) => [d.delegation.delegator_address, d.balance])
    expect(shown.slice(1)).toEqual([
      [delegator, { denom: 'wei', amount: parseEther('1.75').toString() }],
      [other, { denom: 'wei', amount: parseEther('1.25').toString() }],
    ])
    const { unbond } = (await rest(base, `${S}/validators/${first()}/delegations/${delegator}/unbonding_delegation`, height)).json
    expect(unbond.entries.map((e: Foreign) => e.balance)).toEqual([parseEther('1'), parseEther('0.25')].map(String))
    const { timestamp } = await node.ask<{ timestamp: Hex }>(
      'eth_getBlockByNumber',
      toHex(Number(unbond.entries[0].creation_height)),
      false,
    )
    const until = new Date((Number(timestamp) + UNBONDING) * 1000).toISOString().replace('.000Z', 'Z')
    expect(unbond.entries[0].completion_time).toBe(until)
    expect((await rest(base, `${S}/pool`, height)).json.pool.not_bonded_tokens).toBe(parseEther('2').toString())
    const { params } = (await rest(base, `${S}/params`, height)).json
    expect(params).toMatchObject({ unbonding_time: '1814400s', max_validators: 100, max_entries: 7, bond_denom: 'wei' })
  })

  it('answers from the height of the header', async () => {
    const where = `/cosmos/bank/v1beta1/balances/${other}/by_denom?denom=wei`
    for (const at of [1, height - 1, height]) {
      const { json, height: of } = await rest(base, where, at)
      expect([of, json.balance.amount]).toEqual([
        String(at),
        BigInt(await node.ask<Hex>('eth_getBalance', OTHER.address, toHex(at))).toString(),
      ])
    }
    expect((await rest(base, `/cosmos/auth/v1beta1/accounts/${other}`, height)).json.account).toEqual({
      '@type': '/cosmos.auth.v1beta1.BaseAccount',
      address: other,
      pub_key: null,
      account_number: '0',
      sequence: '2',
    })
  })

  it('keeps answers of a head until the next block', async () => {
    const { QueryPoolRequest } = types('cosmos/staking/v1beta1/query')
    const data = QueryPoolRequest.encode(QueryPoolRequest.fromPartial({})).finish()
    const heights = new Set<string>()
    for (let i = 0; heights.size < 3; i++) {
      expect(i).toBeLessThan(2000)
      const { json, height: of } = await rest(base, '/cosmos/base/node/v1beta1/status')
      expect([json.height, of]).toEqual([of, of])
      expect(`0x${Buffer.from(json.app_hash, 'base64').toString('hex')}`).toBe((await node.block(Number(of))).hash)
      const binary = await grpc.call(`${STAKING_QUERY}/Pool`, data)
      const at = await grpc.call(`${STAKING_QUERY}/Pool`, data, Number(binary.height))
      expect(at.bytes.equals(binary.bytes)).toBe(true)
      heights.add(of as string)
    }
  })

  const FAILURES: readonly (readonly [string, () => string, string, () => object, number, number, () => string])[] = [
    [
      'an unknown validator',
      () => `${S}/validators/${text('hearthvaloper', NOBODY)}`,
      `${STAKING_QUERY}/Validator`,
      () => ({ validatorAddr: text('hearthvaloper', NOBODY) }),
      404,
      5,
      () => `validator ${text('hearthvaloper', NOBODY)} not found`,
    ],
    [
      'a status that is none',
      () => `${S}/validators?status=BOUND`,
      `${STAKING_QUERY}/Validators`,
      () => ({ status: 'BOUND' }),
      400,
      3,
      () => 'invalid validator status BOUND',
    ],
    [
      'an address that is no bech32',
      () => `${S}/validators/nothing`,
      `${STAKING_QUERY}/Validator`,
      () => ({ validatorAddr: 'nothing' }),
      400,
      3,
      () => 'decoding bech32 failed: ',
    ],
    [
      'offset and key',
      () => `${S}/validators?pagination.offset=1&pagination.key=AAAAAAAAAAE%3D`,
      `${STAKING_QUERY}/Validators`,
      () => ({ pagination: { ...page, offset: 1n, key: Buffer.from('AAAAAAAAAAE=', 'base64') } }),
      400,
      3,
      () => 'invalid request, either offset or key is expected, got both',
    ],
    [
      'an account that there is not',
      () => `/cosmos/auth/v1beta1/accounts/${text('hearth', NOBODY)}`,
      'cosmos.auth.v1beta1.Query/Account',
      () => ({ address: text('hearth', NOBODY) }),
      404,
      5,
      () => `account ${text('hearth', NOBODY)} not found`,
    ],
  ]

  it.each(FAILURES)('refuses %s alike everywhere', async (_, where, query, request, status, code, message) => {
    const data = messagesOf(query).request.encode(messagesOf(query).request.fromPartial(request())).finish()
    const over = await rest(base, where())
    expect([over.status, over.json.code, over.json.details]).toEqual([status, code, []])
    expect(over.json.message.startsWith(message())).toBe(true)
    await expect(grpc.call(query, data)).rejects.toEqual({ code, details: over.json.message })
    const abci = await abciQuery(node.comet, `/${query}`, data)
    expect([abci.code, abci.codespace]).toEqual([code === 5 ? 22 : 18, 'sdk'])
    const name = code === 5 ? 'NotFound' : 'InvalidArgument'
    expect(abci.log).toContain(`rpc error: code = ${name} desc = ${over.json.message}`)
  })

  it('refuses empty addresses, absent heights and unknown queries', async () => {
    const { QueryValidatorRequest } = types('cosmos/staking/v1beta1/query')
    const empty = QueryValidatorRequest.encode(QueryValidatorRequest.fromPartial({})).finish()
    await expect(grpc.call(`${STAKING_QUERY}/Validator`, empty)).rejects.toEqual({ code: 3, details: 'validator address cannot be empty' })
    const late = await rest(base, `${S}/pool`, 1_000_000)
    expect([late.status, late.json.code]).toEqual([400, 3])
    expect(late.json.message).toMatch(/^height 1000000 is not available, the latest height is \d+$/)
    expect((await rest(base, `${S}/pool?`, -1)).status).toBe(400)
    const none = await rest(base, '/cosmos/gov/v1/proposals')
    expect([none.status, none.json]).toEqual([501, { code: 12, message: 'Not Implemented', details: [] }])
    await expect(grpc.call('cosmos.gov.v1.Query/Proposals', new Uint8Array())).rejects.toMatchObject({ code: 12 })
    const abci = await abciQuery(node.comet, '/cosmos.gov.v1.Query/Proposals', new Uint8Array())
    expect([abci.code, abci.codespace]).toEqual([6, 'sdk'])
  })

  it('answers what CometBFT knows, as cosmjs-types reads it', async () => {
    const file = types('cosmos/base/tendermint/v1beta1/query')
    const call = async (method: string, request: object = {}) => {
      const data = file[`${method}Request`].encode(file[`${method}Request`].fromPartial(request)).finish()
      return file[`${method}Response`].decode((await grpc.call(`cosmos.base.tendermint.v1beta1.Service/${method}`, data)).bytes)
    }
    const block = await call('GetBlockByHeight', { height: BigInt(height) })
    expect([block.block.header.height, block.block.header.chainId]).toEqual([BigInt(height), `hearth-${CHAIN}`])
    const { hash } = await node.block(height)
    const next = (await rest(base, `/cosmos/base/tendermint/v1beta1/blocks/${height + 1}`)).json
    expect(`0x${Buffer.from(next.block.header.app_hash, 'base64').toString('hex')}`).toBe(hash)
    expect((await call('GetSyncing')).syncing).toBe(false)
    expect((await call('GetNodeInfo')).defaultNodeInfo.network).toBe(`hearth-${CHAIN}`)
    const set = await call('GetLatestValidatorSet')
    const { validators } = await node.comets<{ validators: { pub_key: { value: string }; voting_power: string }[] }>('validators')
    expect(set.validators.map((v: Foreign) => [jsonOf(v.pubKey).key, v.votingPower.toString()])).toEqual(
      validators.map((v) => [v.pub_key.value, v.voting_power]),
    )
  })

  it('is what cosmjs asks', async () => {
    const { StargateClient } = foreign('@cosmjs/stargate')
    const { Comet38Client } = foreign('@cosmjs/tendermint-rpc')
    const client = await StargateClient.create(await Comet38Client.connect(node.comet))
    try {
      expect(await client.getChainId()).toBe(`hearth-${CHAIN}`)
      expect(await client.getHeight()).toBeGreaterThan(height)
      const balance = BigInt(await node.ask<Hex>('eth_getBalance', OTHER.address, 'latest')).toString()
      expect(await client.getBalance(other, 'wei')).toEqual({ denom: 'wei', amount: balance })
      expect(await client.getAllBalances(other)).toEqual([{ denom: 'wei', amount: balance }])
      expect(await client.getAccount(other)).toEqual({ address: other, pubkey: null, accountNumber: 0, sequence: 2 })
      expect(await client.getAccount(text('hearth', NOBODY))).toBeNull()
      expect(await client.getDelegation(other, first())).toEqual({ denom: 'wei', amount: parseEther('1.25').toString() })
      expect(await client.getDelegation(other, operators[1])).toBeNull()
      expect(await client.getBalanceStaked(other)).toEqual({ denom: 'wei', amount: parseEther('1.25').toString() })
    } finally {
      client.disconnect()
    }
  })
})
