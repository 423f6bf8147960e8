// Searches by account over JSON-RPC: Otterscan's pages, trace_filter over a long range, the
// settings and the command of the address index.
import fs from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEPLOY } from './contract.ts'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { set } from './dev-requests.ts'
import { hearth, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

/** An account that only contracts call. */
const INNER = `0x${'bb'.repeat(20)}`
/** An account that has no part in anything. */
const NOBODY = `0x${'dd'.repeat(20)}`
/**
 * Calls the account in its first word of call data: CALL(gas, word, callvalue, 0, 0, 0, 0), POP,
 * STOP.
 */
const ROUTER = `0x${'c1'.repeat(20)}`
const ROUTER_CODE = '0x6000600060006000346000355af15000'
const toInner = `0x${INNER.slice(2).padStart(64, '0')}`

interface Page {
  readonly txs: readonly { readonly hash: string; readonly blockNumber: string }[]
  readonly receipts: readonly { readonly transactionHash: string; readonly timestamp: number; readonly gasUsed: string }[]
  readonly firstPage: boolean
  readonly lastPage: boolean
}

/**
 * Mines blocks of which every fourth has a transaction that calls the inner account; resolves to
 * these, newest first.
 */
async function mineInner(dev: Calls, blocks: number, every: number): Promise<string[]> {
  await dev.call('anvil_setCode', ROUTER, ROUTER_CODE)
  const hashes: string[] = []
  for (let n = 0; n < blocks / every; n++) {
    await dev.call('anvil_mine', `0x${(every - 1).toString(16)}`)
    hashes.unshift(await dev.send(ALICE, ROUTER, { data: toInner, value: '0x1', gas: '0x30d40' }))
  }
  return hashes
}

describe('pages of an account', () => {
  let node: RunningNode
  let dev: Calls
  let inner: string[] = []
  const own: string[] = []
  beforeAll(async () => {
    node = await startNode(['dev', '--evm.max_trace_filter_results=30'])
    dev = new Calls(node.url)
    own.unshift(await dev.send(ALICE, undefined, { data: DEPLOY, gas: '0xf4240' }))
    inner = await mineInner(dev, 400, 10)
    // Three transactions of one block.
    await dev.call('evm_setAutomine', false)
    for (const value of [1, 2, 3]) inner.unshift(await dev.send(ALICE, ROUTER, { data: toInner, value: `0x${value}`, gas: '0x30d40' }))
    await dev.call('anvil_mine', '0x1')
    await dev.call('evm_setAutomine', true)
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
  })

  it('tile its transactions downwards and upwards', async () => {
    for (const size of [1, 2, 7, 1000]) {
      const down: string[] = []
      for (let block = 0, ended = false; !ended; ) {
        const page = await dev.call<Page>('ots_searchTransactionsBefore', INNER, block, size)
        expect(page.firstPage).toBe(block === 0)
        expect(page.receipts.map(({ transactionHash }) => transactionHash)).toEqual(page.txs.map(({ hash }) => hash))
        down.push(...page.txs.map(({ hash }) => hash))
        block = Number(page.txs.at(-1)?.blockNumber)
        ended = page.lastPage
      }
      expect(down).toEqual(inner)
      const up: string[] = []
      for (let block = 0, ended = false; !ended; ) {
        const page = await dev.call<Page>('ots_searchTransactionsAfter', INNER, block, size)
        expect(page.lastPage).toBe(block === 0)
        up.unshift(...page.txs.map(({ hash }) => hash))
        block = Number(page.txs[0]?.blockNumber)
        ended = page.firstPage
      }
      expect(up).toEqual(inner)
    }
    // The last block of a page is whole.
    expect((await dev.call<Page>('ots_searchTransactionsBefore', INNER, 0, 1)).txs.map(({ hash }) => hash)).toEqual(inner.slice(0, 3))
  })

  it('have transactions and receipts as eth_* has them', async () => {
    const page = await dev.call<Page>('ots_searchTransactionsBefore', INNER, 0, 5)
    const [newest] = inner
    expect(page.txs[0]).toEqual(await dev.call('eth_getTransactionByHash', newest))
    const receipt = await dev.call<{ blockNumber: string }>('eth_getTransactionReceipt', newest)
    const block = await dev.call<{ timestamp: string }>('eth_getBlockByNumber', receipt.blockNumber, false)
    expect(page.receipts[0]).toEqual({ ...receipt, timestamp: Number(block.timestamp) })
  })

  it('are empty for an account without transactions', async () => {
    const nothing = { txs: [], receipts: [], firstPage: true, lastPage: true }
    expect(await dev.call('ots_searchTransactionsBefore', NOBODY, 0, 25)).toEqual(nothing)
    expect(await dev.call('ots_searchTransactionsAfter', NOBODY, 0, 25)).toEqual(nothing)
    expect(await dev.call('ots_searchTransactionsBefore', BOB, 0, 25)).toEqual(nothing)
  })

  it('follow a chain that is replaced', async () => {
    const id = await dev.call('evm_snapshot')
    const extra = await dev.send(ALICE, ROUTER, { data: toInner, value: '0x9', gas: '0x30d40' })
    const newest = async (): Promise<string | undefined> => (await dev.call<Page>('ots_searchTransactionsBefore', INNER, 0, 1)).txs[0]?.hash
    expect(await newest()).toBe(extra)
    expect(await dev.call('evm_revert', id)).toBe(true)
    expect(await newest()).toBe(inner[0])
  })

  it('refuses more traces than the setting allows', async () => {
    const filter = { fromBlock: '0x1', toAddress: [INNER] }
    const refused = await dev.refused('trace_filter', filter)
    expect(refused.code).toBe(-32005)
    const fits = /evm\.max_trace_filter_results\); try with the block range 0x1 to (0x[0-9a-f]+)$/.exec(refused.message)?.[1]
    const found = await dev.call<{ transactionHash: string }[]>('trace_filter', { ...filter, toBlock: fits })
    expect(found.map(({ transactionHash }) => transactionHash)).toEqual(inner.toReversed().slice(0, 30))
    expect(await dev.call<unknown[]>('trace_filter', { ...filter, after: 30, count: 3 })).toHaveLength(3)
  })

  it.each([
    ['ots_searchTransactionsBefore', [], /missing value for required argument 0/],
    ['ots_searchTransactionsBefore', [INNER], /missing value for required argument 1/],
    ['ots_searchTransactionsBefore', [INNER, 0], /missing value for required argument 2/],
    ['ots_searchTransactionsBefore', [INNER, 0, 5, 1], /too many arguments/],
    ['ots_searchTransactionsBefore', ['0x12', 0, 5], /argument 0/],
    ['ots_searchTransactionsBefore', [INNER, 'latest', 5], /argument 1/],
    ['ots_searchTransactionsBefore', [INNER, -1, 5], /argument 1/],
    ['ots_searchTransactionsBefore', [INNER, 0, 0], /argument 2.*from 1 to 1000/],
    ['ots_searchTransactionsBefore', [INNER, 0, 1001], /argument 2.*from 1 to 1000/],
    ['ots_searchTransactionsBefore', [INNER, 0, '5'], /argument 2/],
    ['ots_searchTransactionsAfter', [INNER, 99_999, 5], /Invalid block param \(block not found\)/],
    ['ots_searchTransactionsBefore', [INNER, '0xffffff', 5], /Invalid block param \(block not found\)/],
  ])('refuse %s%j', async (method, params, message) => {
    const refused = await dev.refused(method, ...params)
    expect(refused.code).toBe(-32602)
    expect(refused.message).toMatch(message)
  })
})

describe('the address index', () => {
  it('reports that it is off, and is built once it is on', async () => {
    const home = tempHome()
    try {
      const off = await startNode(['dev', '--home', home, '--evm.address_index=false', '--evm.max_trace_filter_blocks=100'])
      const dev = new Calls(off.url)
      const inner = await mineInner(dev, 900, 30)
      const refused = await dev.refused('ots_searchTransactionsBefore', INNER, 0, 5)
      expect(refused.message).toBe('this node has no address index: evm.address_index is false')
      const filter = await dev.refused('trace_filter', { toAddress: [INNER] })
      expect([filter.code, filter.message]).toEqual([-32005, expect.stringContaining('evm.address_index = true')])
      // History still says who made a contract, and which transaction a sender's nonce is.
      expect(await dev.call('ots_getTransactionBySenderAndNonce', ALICE, 0)).toBe(inner.at(-1))
      expect(await off.stop()).toBe(0)

      const on = await startNode(['dev', '--home', home])
      const found = async (): Promise<string[]> =>
        (await new Calls(on.url).call<Page>('ots_searchTransactionsBefore', INNER, 0, 1000)).txs.map(({ hash }) => hash)
      expect(await found()).toEqual(inner)
      expect(await on.stop()).toBe(0)

      const reindexed = hearth(['db', 'reindex', '--home', home, '--json'])
      expect(reindexed.stderr + reindexed.stdout).toContain('"pages": 3')
      expect(JSON.parse(reindexed.stdout)).toMatchObject({ pages: 3, unknown: 0, first: 0, head: { height: 900 } })
      expect(hearth(['db', 'reindex', '--home', home]).stdout).toBe('768 blocks are indexed from block 0 on; head 900\n')
      const none = hearth(['db', 'reindex', '--home', home], { HEARTH_EVM_ADDRESS_INDEX: 'false' })
      expect([none.status, none.stderr]).toEqual([1, expect.stringContaining('evm.address_index is false')])
    } finally {
      fs.rmSync(home, { recursive: true, force: true })
    }
  })

  it('keeps a window and says where it begins', async () => {
    const node = await startNode(['dev', '--evm.address_index_window_blocks=300', '--evm.max_trace_filter_blocks=100'])
    try {
      const dev = new Calls(node.url)
      const inner = await mineInner(dev, 1200, 50)
      const pruned = /^block \d+ was pruned: blocks of the address index are kept from block (\d+) on$/
      let floor: string | undefined
      await until('the window moves on', async () => {
        await dev.call('anvil_mine', '0x20')
        const { error } = await rpc(node.url, 'ots_searchTransactionsAfter', [INNER, 0, 5])
        floor = pruned.exec(error?.message ?? '')?.[1]
        return floor !== undefined
      })
      const page = await dev.call<Page>('ots_searchTransactionsBefore', INNER, 0, 1000)
      expect(page.lastPage).toBe(false)
      expect(page.txs.map(({ hash }) => hash)).toEqual(inner.slice(0, page.txs.length))
      expect(Number(page.txs.at(-1)?.blockNumber)).toBeGreaterThanOrEqual(Number(floor))
      const below = await dev.refused('ots_searchTransactionsBefore', INNER, Number(floor), 5)
      expect([below.code, below.message]).toEqual([-32000, expect.stringMatching(pruned)])
      const filter = await dev.refused('trace_filter', { fromBlock: '0x1', toAddress: [INNER] })
      expect(filter.code).toBe(-32005)
      expect(filter.message).toContain(`the address index begins at block 0x${Number(floor).toString(16)}: request 0x1 to 0x64 first`)
    } finally {
      expect(await node.stop()).toBe(0)
    }
  })
})

describe('methods of both namespaces', () => {
  let node: RunningNode
  let dev: Calls
  let hash = ''
  beforeAll(async () => {
    node = await startNode(['dev'])
    dev = new Calls(node.url)
    hash = await dev.send(ALICE, undefined, { data: DEPLOY, gas: '0xf4240' })
    await dev.send(ALICE, BOB, { value: '0x1', data: set(1), gas: '0xf4240' })
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
  })

  const HASHED =
    'trace_transaction trace_replayTransaction trace_get ots_getInternalOperations ots_getTransactionError ots_traceTransaction'.split(' ')
  const rest = (method: string): unknown[] => ({ trace_replayTransaction: [['trace']], trace_get: [['0x0']] })[method] ?? []

  it.each(HASHED)('%s answers null for an unknown hash, refuses invalid ones', async (method) => {
    expect(await dev.call(method, `0x${'12'.repeat(32)}`, ...rest(method))).toBeNull()
    for (const wrong of ['0x12', 7, null, {}, `0x${'zz'.repeat(32)}`, hash.slice(2)])
      expect((await dev.refused(method, wrong, ...rest(method))).code, JSON.stringify(wrong)).toBe(-32602)
    expect((await dev.refused(method)).code).toBe(-32602)
    expect((await dev.refused(method, hash, ...rest(method), 1)).code).toBe(-32602)
  })

  it.each([
    ['trace_block', ['0xffff'], null],
    ['ots_getBlockDetails', [9999], null],
    ['ots_getBlockDetailsByHash', [`0x${'12'.repeat(32)}`], null],
    ['ots_getBlockTransactions', [9999, 0, 5], null],
    ['ots_getContractCreator', [NOBODY], null],
    ['ots_getTransactionBySenderAndNonce', [NOBODY, 0], null],
    ['erigon_getHeaderByNumber', ['0xffff'], null],
  ])('%s%j is %j', async (method, params, answer) => {
    expect(await dev.call(method, ...params)).toEqual(answer)
  })

  it.each([
    ['trace_block', [], -32602],
    ['trace_block', [{}], -32602],
    ['trace_block', ['0x1', 1], -32602],
    ['trace_replayBlockTransactions', ['0x1'], -32602],
    ['trace_replayBlockTransactions', ['0x1', 'trace'], -32602],
    ['trace_replayBlockTransactions', ['0x1', ['traces']], -32602],
    ['trace_replayBlockTransactions', ['0xffff', ['trace']], -32602],
    ['trace_replayTransaction', [`0x${'12'.repeat(32)}`, ['vmtrace']], -32602],
    ['trace_get', [`0x${'12'.repeat(32)}`, '0x0'], -32602],
    ['trace_get', [`0x${'12'.repeat(32)}`, ['x']], -32602],
    ['trace_call', [], -32602],
    ['trace_call', [{}, ['trace', 7]], -32602],
    ['trace_call', [{}, ['trace'], '0xffff'], -32602],
    ['trace_callMany', [[[{}]]], -32602],
    ['trace_callMany', [{}], -32602],
    ['trace_callMany', [[[{}, ['stateDif']]], 'latest'], -32602],
    ['trace_rawTransaction', ['0x', ['trace']], -32000],
    ['trace_rawTransaction', ['nonsense', ['trace']], -32602],
    ['trace_filter', [], -32602],
    ['trace_filter', [{ fromBlock: 1 }], -32602],
    ['trace_filter', [{ toAddress: BOB }], -32602],
    ['trace_filter', [{ toAddress: ['0x12'] }], -32602],
    ['trace_filter', [{ mode: 'both' }], -32602],
    ['trace_filter', [{ count: -1 }], -32602],
    ['trace_filter', [{ fromBlock: '0x2', toBlock: '0x1' }], -32602],
    ['trace_filter', [{ fromBlock: '0x1', toBlock: '0xffff' }], -32602],
    ['ots_getApiLevel', [1], -32602],
    ['ots_hasCode', [BOB, '0xffff'], -32000],
    ['ots_hasCode', ['0x12', 'latest'], -32602],
    ['ots_getBlockDetails', ['newest'], -32602],
    ['ots_getBlockDetailsByHash', ['0x12'], -32602],
    ['ots_getBlockTransactions', [1, -1, 5], -32602],
    ['ots_getBlockTransactions', [1, 0, 0], -32602],
    ['ots_getBlockTransactions', [1, 0], -32602],
    ['ots_getContractCreator', ['0x12'], -32602],
    ['ots_getTransactionBySenderAndNonce', [BOB], -32602],
    ['ots_getTransactionBySenderAndNonce', [BOB, 'first'], -32602],
    ['trace_callMany', [[[{}, ['trace']]], '0xffff'], -32602],
    ['ots_searchTransactionsBefore', [BOB, 0], -32602],
    ['ots_searchTransactionsBefore', ['0x12', 0, 5], -32602],
    ['ots_searchTransactionsAfter', [BOB, 0, 0], -32602],
    ['ots_searchTransactionsAfter', [BOB, 'newest', 5], -32602],
    ['erigon_getHeaderByNumber', [], -32602],
    ['erigon_getHeaderByNumber', ['newest'], -32602],
  ] as const)('%s%j has the code %i', async (method, params, code) => {
    expect((await dev.refused(method, ...params)).code).toBe(code)
  })
})
