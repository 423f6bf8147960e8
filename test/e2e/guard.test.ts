// The historical guard: traces that would read state further below the head than
// evm.max_trace_lookback_blocks are refused; baked blocks, and traces for which a capsule suffices,
// are served at any depth. Both are counted.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { allBaked, BAKING, CONTRACT, metricsOf, Sender, startDev, trace } from './bake-node.ts'
import { type RunningNode, rpc, startNode, tempHome } from './harness.ts'

const HISTORY = '--evm.trace_source=history'
const BLOCKS = 8
/** Blocks 6, 7 and 8 are not historical then. */
const LOOKBACK = 2
const SETTING = 'evm.max_trace_lookback_blocks'

const home = tempHome()
const hex = (n: number): string => `0x${n.toString(16)}`
let hashes: string[]
const blockHashes: string[] = []
const raw: string[] = []

beforeAll(async () => {
  const node = await startDev(home, ...BAKING)
  const sender = new Sender(node)
  hashes = [...(await sender.scene()), ...(await sender.transfers(BLOCKS - 4))]
  for (let n = 1; n <= BLOCKS; n++) {
    const { result } = await rpc(node.url, 'eth_getBlockByNumber', [hex(n), false])
    blockHashes.push((result as { hash: string }).hash)
    raw.push((await rpc(node.url, 'debug_getRawBlock', [hex(n)])).result as string)
  }
  await allBaked(node, BLOCKS)
  expect(await node.stop()).toBe(0)
  // What debug_traceBadBlock finds: blocks in RLP, one after the other.
  fs.writeFileSync(path.join(home, 'data/bad_blocks.rlp'), Buffer.concat(raw.map((block) => Buffer.from(block.slice(2), 'hex'))))
})
afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

let node: RunningNode
afterEach(async () => {
  expect(await node.stop()).toBe(0)
})
const start = async (...settings: string[]): Promise<void> => {
  node = await startNode(['start', '--home', home, ...settings])
}

const call = { to: CONTRACT, data: '0x6d4ce63c' }
const tracer = { tracer: 'callTracer' }

/** Every way to trace something of block `n`. */
const requests = (n: number): [method: string, params: unknown[]][] => [
  ['debug_traceTransaction', [hashes[n - 1], tracer]],
  ['debug_traceBlockByNumber', [hex(n), tracer]],
  ['debug_traceBlockByHash', [blockHashes[n - 1], tracer]],
  ['debug_traceBlock', [raw[n - 1], tracer]],
  ['debug_traceBadBlock', [blockHashes[n - 1], tracer]],
  ['debug_traceStateAccess', [hashes[n - 1]]],
  ['debug_traceTransactionProfile', [hashes[n - 1], tracer]],
  ['debug_traceCall', [call, hex(n), tracer]],
  ['debug_traceCallMany', [[{ transactions: [call] }], { blockNumber: hex(n) }, tracer]],
]
/** Calls read the state after their block, which no capsule has. */
const isCall = (method: string): boolean => method.startsWith('debug_traceCall')

const refusal = (n: number, lookback = LOOKBACK) => ({
  code: -32000,
  message: `block number ${n} is beyond max lookback of ${lookback}`,
  data: SETTING,
})

/** How often historical traces were counted, by method. */
async function counted(connection = 'http'): Promise<Map<string, number>> {
  const name = 'evmrpc_historical_debug_trace_attempts_total'
  const found = new Map<string, number>()
  for (const [sample, value] of await metricsOf(node)) {
    const labels = new RegExp(`^${name}\\{endpoint="([^"]+)",connection="${connection}"\\}$`).exec(sample)
    if (labels !== null && value > 0) found.set(labels[1] as string, value)
  }
  return found
}

describe('from history', () => {
  it('refuses and counts traces beyond the lookback, no others', async () => {
    await start(HISTORY, `--${SETTING}=${LOOKBACK}`)
    for (const [method, params] of requests(6)) {
      const { error, result } = await trace(node.url, method, params)
      expect([method, error]).toEqual([method, undefined])
      expect(result).toBeTruthy()
    }
    expect(await counted()).toEqual(new Map())
    for (const [method, params] of requests(5)) {
      expect([method, (await trace(node.url, method, params)).error]).toEqual([method, refusal(5)])
    }
    expect(await counted()).toEqual(new Map(requests(5).map(([method]) => [method, 1])))
  })

  it('0 is the head only, and a future height is no history', async () => {
    await start(HISTORY, `--${SETTING}=0`)
    expect((await trace(node.url, 'debug_traceBlockByNumber', ['latest', tracer])).error).toBeUndefined()
    expect((await trace(node.url, 'debug_traceBlockByNumber', [hex(BLOCKS - 1), tracer])).error).toEqual(refusal(BLOCKS - 1, 0))
    expect((await trace(node.url, 'debug_traceBlockByNumber', [hex(99), tracer])).error?.message).toBe('block #99 not found')
    expect((await trace(node.url, 'debug_traceCall', [call, 'earliest', tracer])).error).toEqual(refusal(0, 0))
  })

  it('-1 is no limit, and nothing counts', async () => {
    await start(HISTORY, `--${SETTING}=-1`)
    for (const [method, params] of requests(1).filter(([method]) => !isCall(method))) {
      expect([method, (await trace(node.url, method, params)).error]).toEqual([method, undefined])
    }
    expect(await counted()).toEqual(new Map())
  })

  it('holds in a batch and over WebSocket, for its own element', async () => {
    await start(HISTORY, `--${SETTING}=${LOOKBACK}`)
    const socket = new WebSocket(node.ws)
    await new Promise((resolve) => socket.once('open', resolve))
    const ask = (body: unknown): Promise<unknown> =>
      new Promise((resolve) => {
        socket.once('message', (data) => resolve(JSON.parse(data.toString())))
        socket.send(JSON.stringify(body))
      })
    const element = (id: number, method: string, params: unknown[]) => ({ jsonrpc: '2.0', id, method, params })
    const answer = await ask([element(1, 'eth_blockNumber', []), element(2, 'debug_traceBlockByNumber', [hex(1), tracer])])
    expect(answer).toEqual([
      { jsonrpc: '2.0', id: 1, result: hex(BLOCKS) },
      { jsonrpc: '2.0', id: 2, error: refusal(1) },
    ])
    expect(await counted('websocket')).toEqual(new Map([['debug_traceBlockByNumber', 1]]))
    expect(await counted('http')).toEqual(new Map())
    // A chain of traces ends at the block that may not be traced.
    const messages: { params?: { result: { error?: unknown } } }[] = []
    socket.on('message', (data) => messages.push(JSON.parse(data.toString())))
    socket.send(JSON.stringify(element(3, 'debug_subscribe', ['traceChain', hex(2), hex(BLOCKS), tracer])))
    while (messages.length < 2) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(messages[1]?.params?.result).toMatchObject({ block: hex(3), error: { code: -32000, message: refusal(3).message } })
    expect(await counted('websocket')).toEqual(
      new Map([
        ['debug_traceBlockByNumber', 1],
        ['debug_subscribe', 1],
      ]),
    )
    socket.terminate()
  })
})

describe('from capsules', () => {
  it('all but calls are served at any depth, and counted', async () => {
    await start(`--${SETTING}=${LOOKBACK}`)
    for (const [method, params] of requests(2)) {
      const { error } = await trace(node.url, method, params)
      expect([method, error]).toEqual([method, isCall(method) ? refusal(2) : undefined])
    }
    expect(await counted()).toEqual(new Map(requests(2).map(([method]) => [method, 1])))
  })
})

describe('from the trace cache', () => {
  it('baked traces are served at any depth, and counted', async () => {
    await start(HISTORY, `--${SETTING}=${LOOKBACK}`, ...BAKING)
    for (const [method, params] of requests(1).slice(0, 3)) {
      for (let i = 1; i <= 4; i++) {
        const { error, from } = await trace(node.url, method, params)
        expect([method, error, from]).toEqual([method, undefined, 'baked'])
        expect((await counted()).get(method), `${method} ${i}`).toBe(i)
      }
    }
    const withLog = { ...tracer, tracerConfig: { withLog: true } }
    expect((await trace(node.url, 'debug_traceBlockByNumber', [hex(1), withLog])).error).toEqual(refusal(1))
  })
})
