// The trace namespace on a development chain: its answers compared with those of debug_*, and its
// refusals.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEPLOY } from './contract.ts'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { set } from './dev-requests.ts'
import { type RunningNode, startNode } from './harness.ts'

const UNKNOWN = `0x${'12'.repeat(32)}`

interface Trace {
  readonly action: Record<string, string>
  readonly result?: { readonly gasUsed: string; readonly output?: string; readonly address?: string }
  readonly error?: string
  readonly revertReason?: string
  readonly transactionHash: string
  readonly blockNumber: number
  readonly type: string
}

describe('the trace namespace', () => {
  let node: RunningNode
  let dev: Calls
  let contract = ''
  const hashes: string[] = []
  beforeAll(async () => {
    node = await startNode(['dev', '--evm.max_trace_filter_blocks=3'])
    dev = new Calls(node.url)
    const mined = async (to: string | undefined, more: object): Promise<void> => {
      hashes.push(await dev.send(ALICE, to, { gas: '0xf4240', ...more }))
    }
    await mined(undefined, { data: DEPLOY })
    contract = (await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', hashes[0])).contractAddress
    await mined(contract, { data: set(42) })
    await mined(BOB, { value: '0x5' })
    await mined(contract, { data: set(0) })
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
  })

  it('gives the calls of a transaction, a block and a place', async () => {
    const [created] = await dev.call<Trace[]>('trace_transaction', hashes[0])
    expect(created).toMatchObject({
      type: 'create',
      blockNumber: 1,
      transactionHash: hashes[0],
      action: { from: ALICE, creationMethod: 'create' },
    })
    expect(created?.result?.address).toBe(contract)
    expect(await dev.call('trace_block', '0x1')).toEqual([created])
    expect(await dev.call('trace_get', hashes[0], [])).toEqual(created)
    expect(await dev.call('trace_get', hashes[0], [0])).toBeNull()
    const [failed] = await dev.call<Trace[]>('trace_transaction', hashes[3])
    const revert = await dev.call<{ output: string }>('debug_traceTransaction', hashes[3], { tracer: 'callTracer' })
    expect(failed).toMatchObject({ error: 'Reverted', revertReason: revert.output })
    expect(failed).not.toHaveProperty('result')
  })

  it('replays a transaction with what is asked for', async () => {
    const replayed = await dev.call<Record<string, unknown>>('trace_replayTransaction', hashes[1], ['stateDiff'])
    expect(replayed).toMatchObject({ output: '0x', trace: [], vmTrace: null, transactionHash: hashes[1] })
    const word = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`
    const diff = (replayed.stateDiff as Record<string, { balance: unknown; storage: unknown; nonce: unknown }>)[contract]
    expect(diff).toEqual({ balance: '=', code: '=', nonce: '=', storage: { [word(0)]: { '*': { from: word(0), to: word(42) } } } })
    const whole = await dev.call<{ transactionHash: string; vmTrace: { code: string } }[]>('trace_replayBlockTransactions', '0x2', [
      'vmTrace',
    ])
    expect(whole.map(({ transactionHash }) => transactionHash)).toEqual([hashes[1]])
    expect(whole[0]?.vmTrace.code).toBe(await dev.call('eth_getCode', contract, 'latest'))
  })

  it('traces unmined calls, each on the effects of the former', async () => {
    const call = (value: number) => ({ from: ALICE, to: contract, data: set(value) })
    const one = await dev.call<{ stateDiff: Record<string, { storage: object }> }>('trace_call', call(7), ['stateDiff'], 'latest')
    const many = await dev.call<(typeof one)[]>(
      'trace_callMany',
      [7, 8].map((value) => [call(value), ['stateDiff']]),
    )
    const stored = (answer: typeof one | undefined): unknown => Object.values(answer?.stateDiff[contract]?.storage ?? {})
    const to = (n: number) => expect.stringMatching(new RegExp(`${n.toString(16)}$`))
    expect(stored(one)).toEqual([{ '*': { from: to(42), to: to(7) } }])
    expect(await dev.call('trace_call', call(7), ['stateDiff'], 'pending')).toEqual(one)
    expect(await dev.call('trace_callMany', [[call(7), ['stateDiff']]], 'pending')).toEqual([one])
    expect(many.map(stored)).toEqual([[{ '*': { from: to(42), to: to(7) } }], [{ '*': { from: to(7), to: to(8) } }]])
    expect(await dev.call('trace_callMany', [])).toEqual([])
    const raw = await dev.call<string>('eth_getRawTransactionByHash', hashes[2])
    const traced = await dev.call<{ trace: Trace[] }>('trace_rawTransaction', raw, ['trace'])
    expect(traced.trace.map(({ action }) => [action.from, action.to, action.value])).toEqual([[ALICE, BOB, '0x5']])
    expect(await dev.refused('trace_rawTransaction', '0x02c0', ['trace'])).toMatchObject({ code: expect.any(Number) })
  })

  it('speaks to Otterscan', async () => {
    expect(await dev.call('ots_getApiLevel')).toBe(8)
    expect(await dev.call('erigon_getHeaderByNumber', '0x1')).toEqual(await dev.call('eth_getHeaderByNumber', '0x1'))
    const at = (block: unknown): Promise<unknown> => dev.call('ots_hasCode', contract, block)
    expect([await at('0x0'), await at(0), await at('latest')]).toEqual([false, false, true])
    const hashOf = async (block: string): Promise<string> => (await dev.block(block)).hash
    expect([await at(await hashOf('0x0')), await at({ blockHash: await hashOf('0x1') })]).toEqual([false, true])
    expect(await dev.call('ots_getContractCreator', contract)).toEqual({ hash: hashes[0], creator: ALICE })
    expect(await dev.call('ots_getContractCreator', BOB)).toBeNull()
    expect(await dev.call('ots_getTransactionBySenderAndNonce', ALICE, 2)).toBe(hashes[2])
    expect(await dev.call('ots_getTransactionBySenderAndNonce', ALICE, 99)).toBeNull()
    const revert = await dev.call<{ output: string; input: string }>('debug_traceTransaction', hashes[3], { tracer: 'callTracer' })
    expect(await dev.call('ots_getTransactionError', hashes[3])).toBe(revert.output)
    expect(await dev.call('ots_getTransactionError', hashes[2])).toBe('0x')
    const call = { type: 'CALL', depth: 0, from: ALICE, to: contract, value: '0x0', input: revert.input, output: revert.output }
    expect(await dev.call('ots_traceTransaction', hashes[3])).toEqual([call])
    const block = await dev.call<Record<string, unknown>>('eth_getBlockByNumber', '0x2', true)
    const { transactions, ...header } = block as { transactions: Record<string, unknown>[] }
    const slim = { ...header, logsBloom: null, transactionCount: 1 }
    const { gasUsed, effectiveGasPrice } = await dev.call<Record<'gasUsed' | 'effectiveGasPrice', string>>(
      'eth_getTransactionReceipt',
      hashes[1],
    )
    const totalFees = `0x${(BigInt(gasUsed) * BigInt(effectiveGasPrice)).toString(16)}`
    const details = { block: slim, issuance: { blockReward: '0x0', uncleReward: '0x0', issuance: '0x0' }, totalFees }
    expect(await dev.call('ots_getBlockDetails', 2)).toEqual(details)
    expect(await dev.call('ots_getBlockDetailsByHash', block.hash)).toEqual(details)
    expect([await dev.call('ots_getBlockDetails', 99), await dev.call('ots_getBlockTransactions', 99, 0, 5)]).toEqual([null, null])
    const receipt = await dev.call<object>('eth_getTransactionReceipt', hashes[1])
    const [tx] = transactions
    expect(await dev.call('ots_getBlockTransactions', 2, 0, 5)).toEqual({
      fullblock: { ...slim, transactions: [{ ...tx, input: set(42).slice(0, 10) }] },
      receipts: [{ ...receipt, logs: null, logsBloom: null }],
    })
    expect(await dev.call('ots_getBlockTransactions', 2, 1, 5)).toMatchObject({ fullblock: { transactions: [] }, receipts: [] })
    // A transaction that makes a contract: its init code calls nothing, so no value moves within
    // it.
    expect(await dev.call('ots_getInternalOperations', hashes[0])).toEqual([])
    expect(await dev.call('ots_getInternalOperations', UNKNOWN)).toBeNull()
  })

  it('finds calls by account', async () => {
    const hashesOf = async (filter: object): Promise<string[]> =>
      (await dev.call<Trace[]>('trace_filter', { fromBlock: '0x2', ...filter })).map(({ transactionHash }) => transactionHash)
    expect(await hashesOf({ toAddress: [BOB] })).toEqual([hashes[2]])
    expect(await hashesOf({ fromAddress: [ALICE], after: 1, count: 1 })).toEqual([hashes[2]])
    expect(await hashesOf({ fromAddress: [BOB], toAddress: [contract] })).toEqual([])
    expect(await hashesOf({ fromAddress: [BOB], toAddress: [contract], mode: 'union' })).toEqual([hashes[1], hashes[3]])
  })

  it('searches no more blocks than the setting allows', async () => {
    const refused = await dev.refused('trace_filter', { fromBlock: '0x1', toBlock: '0x4' })
    expect(refused.message).toContain('evm.max_trace_filter_blocks')
    expect(refused.message).toContain('0x1 to 0x3')
    expect(refused.code).toBe(-32005)
  })

  it('says what is not there, and refuses what is wrong', async () => {
    expect(await dev.call('trace_block', '0xffff')).toBeNull()
    expect(await dev.call('trace_transaction', UNKNOWN)).toBeNull()
    expect(await dev.call('trace_replayTransaction', UNKNOWN, ['trace'])).toBeNull()
    expect(await dev.call('trace_block', '0x0')).toEqual([])
    const block = await dev.refused('trace_replayBlockTransactions', '0xffff', ['trace'])
    expect(block).toEqual({ code: -32602, message: 'Invalid block param (block not found)' })
    expect((await dev.refused('trace_filter', { fromBlock: '0x3', toBlock: '0x1' })).code).toBe(-32602)
    expect((await dev.refused('trace_filter', { fromBlock: '0xffff' })).code).toBe(-32602)
    expect((await dev.refused('trace_call', {}, ['traces'])).message).toContain('Invalid trace type params')
  })

  it('gives Otterscan the pending block with its fees', async () => {
    await dev.call('evm_setAutomine', false)
    const hash = await dev.send(ALICE, BOB, { value: '0x1' })
    const { transactions } = await dev.call<{ transactions: { gasPrice: string }[] }>('eth_getBlockByNumber', 'pending', true)
    const block = { number: '0x5', hash: null, transactionCount: 1 }
    const totalFees = `0x${(21_000n * BigInt(transactions[0]?.gasPrice ?? 0)).toString(16)}`
    expect(await dev.call('ots_getBlockDetails', 'pending')).toMatchObject({ block, totalFees })
    const page = { fullblock: { transactions: [{ hash }] }, receipts: [{ transactionHash: hash, logs: null }] }
    expect(await dev.call('ots_getBlockTransactions', 'pending', 0, 5)).toMatchObject(page)
  })
})
