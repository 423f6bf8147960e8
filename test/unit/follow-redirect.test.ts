// What a node that follows passes on: which requests, about which block, to which upstream, and how
// often.
import { afterEach, describe, expect, it } from 'vitest'
import { CoreError } from '../../ts/core/error.ts'
import { readBytes } from '../../ts/core/results.ts'
import { type FollowNode, type FollowOptions, followNode } from '../../ts/follow/node.ts'
import type { Client } from '../../ts/rpc/client.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { ELSEWHERE_METHODS, PASSED_ON_METHODS } from '../../ts/rpc/elsewhere.ts'
import { METHODS } from '../../ts/rpc/table.ts'
import { FOLLOWED_READS, FOLLOWED_TRACES } from '../../ts/upstream/reads.ts'
import { until as untilOf } from '../e2e/waiting.ts'
import { drain, PLAIN_RULES } from './fake-core.ts'
import { blocksAfter, GENESIS, hex, optionsFor, recordedEvents, TestCore, TestUpstream } from './follow-chain.ts'
import type { Answer, Asked } from './json-server.ts'

const until = (holds: () => boolean): Promise<void> => untilOf('the state of the follower', holds)

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const ACCOUNT = `0x${'11'.repeat(20)}`
const CLIENT: Client = { connection: 'http', onDisconnect: () => undefined }

interface Served {
  readonly upstream: TestUpstream
  readonly test: TestCore
  readonly node: FollowNode
  readonly counted: unknown[][]
  readonly ask: (method: string, ...params: unknown[]) => Promise<Record<string, unknown>>
  readonly headers: (method: string, ...params: unknown[]) => Promise<unknown>
}

/** A follower of five blocks above block 10 of an upstream that answers as `more` says. */
async function served(
  more: (request: Asked) => Answer | undefined,
  options: Partial<FollowOptions> = {},
  extra: TestUpstream[] = [],
): Promise<Served> {
  const upstream = await TestUpstream.start()
  ends.push(() => upstream.server.stop())
  upstream.add(blocksAfter(GENESIS, 15))
  upstream.more = (request) => more(request)
  const test = new TestCore(upstream.chain[10])
  const urls = [upstream, ...extra].map(({ url }) => url)
  const node = followNode(test.core, { chainId: 7, genesisHash: undefined }, optionsFor(urls, options), recordedEvents())
  ends.push(() => node.stop())
  node.start()
  await until(() => test.head.number === 15)
  const counted: unknown[][] = []
  const meter = { now: () => 0, request: () => undefined, count: (...values: unknown[]) => void counted.push(values) }
  const context = {
    ...PLAIN_RULES,
    core: node.core,
    submission: node.submission,
    namespaces: ['eth', 'debug', 'trace', 'txpool'],
    clientVersion: 'test',
  }
  const limits = { requests: 10, values: 10_000, responseBytes: 1_000_000, concurrency: 4 }
  const dispatch = makeDispatch(context as never, limits, (e) => expect(e).toBeUndefined(), meter as never)
  const reply = (method: string, params: unknown[]) => dispatch(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), CLIENT)
  return {
    upstream,
    test,
    node,
    counted,
    ask: async (method, ...params) => JSON.parse(await drain(await reply(method, params))) as Record<string, unknown>,
    headers: async (method, ...params) => (await reply(method, params)).headers.verified,
  }
}

/** Answers a method with its request. */
const echo =
  (...methods: string[]) =>
  ({ method, params }: Asked): Answer | undefined =>
    methods.includes(method) && params[0] !== `0x${'00'.repeat(20)}` ? { result: { method, params } } : undefined

describe('state', () => {
  it.each([
    ['latest', (test: TestCore) => ({ blockHash: test.head.hash })],
    [undefined, (test: TestCore) => ({ blockHash: test.head.hash })],
    ['0xc', (test: TestCore) => ({ blockHash: test.chain[2]?.hash })],
    ['0x3', () => '0x3'],
    ['earliest', () => 'earliest'],
    ['pending', () => 'pending'],
  ])('at %s is that of our block', async (given, want) => {
    const { ask, test, counted } = await served(echo('eth_getBalance'))
    const { result } = await ask('eth_getBalance', ACCOUNT, given)
    expect(result).toEqual({ method: 'eth_getBalance', params: [ACCOUNT, want(test)] })
    expect(counted).toEqual([['redirected', 'eth_getBalance', 'http']])
  })

  it('is that of our head while the upstream is ahead', async () => {
    const { ask, test, upstream } = await served(echo('eth_call'))
    test.judge = () => ({ status: 'refused', field: 'other', reason: 'a test' })
    const before = test.head.hash
    upstream.add(blocksAfter(upstream.head, 1))
    const { result } = await ask('eth_call', { to: ACCOUNT }, 'latest')
    expect(result).toMatchObject({ params: [{ to: ACCOUNT }, { blockHash: before }] })
  })

  it('of calls in bundles has the overrides of each bundle', async () => {
    const { ask, test } = await served(echo('debug_traceCallMany'))
    const bundle = {
      transactions: [{ to: ACCOUNT }],
      blockOverride: { number: '0x5', blockHash: { '0x4': `0x${'ab'.repeat(32)}` } },
      stateOverrides: { [ACCOUNT]: { balance: '0x1' } },
    }
    const { result } = await ask('debug_traceCallMany', [bundle, { transactions: [] }], { blockNumber: 'latest' })
    const context = { blockNumber: { blockHash: test.head.hash } }
    expect(result).toMatchObject({ params: [[bundle, { transactions: [] }], context, {}] })
  })

  it('above our head is nowhere', async () => {
    const { ask } = await served(echo('eth_getBalance'))
    expect((await ask('eth_getBalance', ACCOUNT, '0x10')).error).toEqual({ code: -32000, message: 'header not found' })
  })

  it('is an error and never zero while no upstream answers', async () => {
    const { ask, upstream, node } = await served(echo('eth_getBalance'), { timeoutMs: 300 })
    upstream.fault = () => ({ destroy: true })
    await until(() => node.reason() !== undefined)
    const { error } = await ask('eth_getBalance', ACCOUNT)
    expect(error).toMatchObject({ code: -32000, message: expect.stringContaining('this node holds no state') })
  })

  it('is refused where follow.redirect is off', async () => {
    const { ask } = await served(echo('eth_getBalance'), { redirect: false })
    expect((await ask('eth_getBalance', ACCOUNT)).error).toMatchObject({ message: expect.stringContaining('follow.redirect is off') })
  })

  it('keeps code, message and data of an error', async () => {
    const error = { code: 3, message: 'execution reverted: no', data: '0x08c379a0' }
    const { ask } = await served(({ method }) => (method === 'eth_call' ? { error } : undefined))
    expect((await ask('eth_call', { to: ACCOUNT })).error).toEqual(error)
  })

  it('goes to an upstream that knows our head', async () => {
    const second = await TestUpstream.start(echo('eth_getBalance'))
    ends.push(() => second.server.stop())
    second.add(blocksAfter(GENESIS, 15))
    const unknown = { error: { code: -32000, message: 'header for hash not found' } }
    const { ask, upstream } = await served(() => undefined, {}, [second])
    upstream.more = ({ method }) => (method === 'eth_getBalance' ? unknown : undefined)
    expect((await ask('eth_getBalance', ACCOUNT)).result).toMatchObject({ method: 'eth_getBalance' })
  })

  it('is limited in number', async () => {
    const { ask, upstream } = await served(() => undefined, { redirectsAtOnce: 1 })
    upstream.fault = (requests) => (requests[0]?.method === 'eth_call' ? { hang: true } : undefined)
    void ask('eth_call', { to: ACCOUNT })
    await until(() => upstream.asked('eth_call').length === 1)
    expect((await ask('eth_call', { to: ACCOUNT })).error).toMatchObject({ code: -32005 })
  })
})

describe('blocks and traces', () => {
  it('are our own from the first one on', async () => {
    const { ask, counted } = await served(() => undefined)
    expect((await ask('eth_getBlockByNumber', 'latest', false)).result).toEqual({ here: 'latest' })
    expect((await ask('eth_getBlockByNumber', '0xb', false)).result).toEqual({ here: '0xb' })
    expect((await ask('debug_traceBlockByNumber', '0xc')).result).toBe('trace')
    expect(counted).toEqual([])
  })

  it('below it are those of the upstream', async () => {
    const { ask, upstream } = await served(() => undefined)
    upstream.more = ({ method, params }) => (params[0] === '0xa' || params[0] === '0x0' ? { result: { method, params } } : undefined)
    expect((await ask('eth_getBlockByNumber', '0xa', false)).result).toEqual({ method: 'eth_getBlockByNumber', params: ['0xa', false] })
    expect((await ask('eth_getBlockByNumber', 'earliest', true)).result).toEqual({ method: 'eth_getBlockByNumber', params: ['0x0', true] })
    expect((await ask('debug_traceBlockByNumber', '0xa')).result).toMatchObject({ method: 'debug_traceBlockByNumber' })
  })

  it('of a hole are those of the upstream', async () => {
    const { ask, test } = await served(echo('debug_traceBlockByNumber'))
    const stream = test.core.stream
    test.core.stream = (op, args) => {
      const failing = stream('traceTransaction', { hash: '0x', config: undefined })
      failing.next = () => Promise.reject(new CoreError('state_elsewhere', `${op} of a hole: ${JSON.stringify(args)}`))
      return failing
    }
    expect((await ask('debug_traceBlockByNumber', 'latest')).result).toMatchObject({ params: ['0xf', expect.anything()] })
  })

  it('above our head are not there yet', async () => {
    const receipt = { blockNumber: '0x10', status: '0x1' }
    const transaction = { blockNumber: '0x10', blockHash: `0x${'33'.repeat(32)}`, transactionIndex: '0x0', nonce: '0x1' }
    const { ask } = await served(({ method }) => {
      if (method === 'eth_getTransactionReceipt') return { result: receipt }
      return method === 'eth_getTransactionByHash' ? { result: transaction } : undefined
    })
    const hash = `0x${'44'.repeat(32)}`
    expect((await ask('eth_getTransactionReceipt', hash)).result).toBeNull()
    const waiting = { blockNumber: null, blockHash: null, transactionIndex: null, nonce: '0x1' }
    expect((await ask('eth_getTransactionByHash', hash)).result).toEqual(waiting)
  })

  it('have their logs from both sides', async () => {
    const { ask } = await served(({ method, params }) => (method === 'eth_getLogs' ? { result: [{ there: params[0] }] } : undefined))
    expect((await ask('eth_getLogs', { fromBlock: '0x8', toBlock: '0xc' })).result).toEqual([
      { there: { fromBlock: '0x8', toBlock: '0xa' } },
      { here: { fromBlock: '0xb', toBlock: '0xc' } },
    ])
  })

  it('say how well they were checked', async () => {
    const { headers } = await served(echo('eth_getBalance'))
    expect(await headers('eth_getBlockByNumber', 'latest', false)).toBe('proven')
    expect(await headers('eth_getBalance', ACCOUNT)).toBe('upstream')
  })
})

describe('a transaction', () => {
  const send = 'eth_sendRawTransaction'

  it('is sent once, also where there is no answer', async () => {
    const { ask, upstream, counted } = await served(() => undefined, { timeoutMs: 300 })
    upstream.fault = (requests) => (requests[0]?.method === send ? { destroy: true } : undefined)
    expect((await ask(send, '0x02')).error).toMatchObject({ code: -32000 })
    expect(upstream.asked(send)).toEqual([['0x02']])
    expect(counted).toContainEqual(['redirected', send, 'http'])
  })

  it('that the upstream has already was taken', async () => {
    const { ask, test } = await served(({ method }) =>
      method === send ? { error: { code: -32000, message: 'already known' } } : undefined,
    )
    const { result } = await ask(send, '0x02')
    expect(result).toBe(JSON.parse(Buffer.from(await test.core.request('keccak', { data: '0x02' })).toString()))
  })

  it('keeps the error of the upstream', async () => {
    const error = { code: -32000, message: 'nonce too low' }
    const { ask } = await served(({ method }) => (method === send ? { error } : undefined))
    expect((await ask(send, '0x02')).error).toEqual(error)
  })
})

describe('eth_syncing', () => {
  it('says how far the node is while it catches up', async () => {
    const { ask, upstream, test } = await served(() => undefined)
    expect((await ask('eth_syncing')).result).toBe(false)
    test.judge = () => ({ status: 'refused', field: 'other', reason: 'a test' })
    upstream.add(blocksAfter(upstream.head, 30))
    await until(() => upstream.asked('debug_executionWitnessByHash').length > 7)
    const want = { startingBlock: hex(15), currentBlock: hex(15), highestBlock: hex(45) }
    expect((await ask('eth_syncing')).result).toEqual(want)
  })
})

describe('before the first contact', () => {
  /** A follower that has not begun, and a read of state through it. */
  async function early(timeoutMs: number): Promise<{ upstream: TestUpstream; node: FollowNode; read: () => Promise<string> }> {
    const upstream = await TestUpstream.start()
    ends.push(() => upstream.server.stop())
    upstream.add(blocksAfter(GENESIS, 3))
    const test = new TestCore()
    const options = optionsFor([upstream.url], { timeoutMs, redirectsAtOnce: 1 })
    const node = followNode(test.core, { chainId: 7, genesisHash: undefined }, options, recordedEvents())
    ends.push(() => node.stop())
    const read = async (): Promise<string> =>
      Buffer.from(await readBytes(node.core, 'getBalance', { address: ACCOUNT, block: 'latest' })).toString()
    return { upstream, node, read }
  }

  it('reads wait for it, as many as may', async () => {
    const { node, read } = await early(2000)
    const first = read()
    await expect(read()).rejects.toMatchObject({ kind: 'busy' })
    node.start()
    expect(await first).toBe('"0x0"')
    expect(await read()).toBe('"0x0"')
  })

  it('reads fail once their time is over, and say why', async () => {
    const { read } = await early(100)
    await expect(read()).rejects.toMatchObject({ kind: 'state_elsewhere', message: expect.stringContaining('not reached yet') })
  })

  it('reads fail at once where it fails', async () => {
    const { upstream, node, read } = await early(60_000)
    upstream.chainId = 8
    node.start()
    await expect(read()).rejects.toThrow('its chain id is 8, and 7 here')
  })
})

describe('a node', () => {
  it('is not ready behind the setting', async () => {
    const { node, upstream, test } = await served(() => undefined, { readyLagBlocks: 2 })
    expect(node.reason()).toBeUndefined()
    const block = test.block
    test.block = (...args) => new Promise((resolve) => setTimeout(() => resolve(block.apply(test, args)), 200))
    upstream.add(blocksAfter(upstream.head, 5))
    await until(() => node.reason() !== undefined)
    expect(node.reason()).toMatch(/^following: [3-5] blocks behind the upstream, over 2 \(follow.ready_lag_blocks\)$/)
    await until(() => node.reason() === undefined)
  })
})

describe('the tables', () => {
  it('name the same methods', () => {
    const parity = ['trace_callMany', 'trace_rawTransaction']
    const named = [...Object.values(FOLLOWED_READS), ...Object.values(FOLLOWED_TRACES)].map(({ method }) => method)
    expect([...new Set([...named, 'eth_getLogs', ...parity])].filter((name) => name !== 'eth_getTransactionCount').sort()).toEqual([
      ...PASSED_ON_METHODS,
    ])
    expect(ELSEWHERE_METHODS).toHaveLength(new Set(ELSEWHERE_METHODS).size)
  })

  it('pass on nothing that changes another node', () => {
    const harmful = METHODS.filter(({ cost }) => cost === 'write').map(({ name }) => name)
    expect(PASSED_ON_METHODS.filter((name) => harmful.includes(name) || /^(admin|personal|engine)_/.test(name))).toEqual([])
  })
})
