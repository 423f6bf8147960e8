// debug_subscribe "traceChain" over WebSocket: the messages of go-ethereum, from the trace cache if
// the traces are baked.
import fs from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { allBaked, BAKING, CALLER, metricsOf, Sender, startDev } from './bake-node.ts'
import { type RunningNode, rpc, tempHome } from './harness.ts'
import { settled, sleep, until } from './waiting.ts'

const home = tempHome()
let node: RunningNode
let hashes: `0x${string}`[]

beforeAll(async () => {
  node = await startDev(home, ...BAKING)
  hashes = await new Sender(node).scene()
  await allBaked(node, hashes.length)
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

interface Message {
  readonly id?: number
  readonly result?: unknown
  readonly error?: { code: number; message: string }
  readonly method?: string
  readonly params?: { subscription: string; result: { block: string; hash: string; traces: { txHash: string; result: unknown }[] } }
}

/** Traces of larger messages are not kept. */
const LARGE = 1_000_000

/** A connection that keeps every message. */
class Socket {
  readonly messages: Message[] = []
  private readonly socket: WebSocket
  private arrived = (): void => undefined

  constructor(url: string) {
    this.socket = new WebSocket(url)
    this.socket.on('message', (data) => {
      const text = data.toString()
      const traces = text.length > LARGE ? text.indexOf('"traces":[') : -1
      this.messages.push(JSON.parse(traces < 0 ? text : `${text.slice(0, traces)}"traces":[]}}}`) as Message)
      this.arrived()
    })
  }

  async ask(method: string, params: unknown[], id = 1): Promise<void> {
    if (this.socket.readyState === WebSocket.CONNECTING) await new Promise((resolve) => this.socket.once('open', resolve))
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
  }

  async atLeast(count: number): Promise<Message[]> {
    while (this.messages.length < count) await new Promise<void>((resolve) => (this.arrived = resolve))
    return this.messages
  }

  /** Reads no more, until `resume`. */
  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  close(): void {
    this.socket.close()
  }
}

const config = { tracer: 'callTracer' }

describe('debug_subscribe "traceChain"', () => {
  const hits = async (): Promise<number> => {
    const samples = await metricsOf(node)
    return ['hot', 'stored'].reduce((sum, result) => sum + (samples.get(`trace_cache_requests_total{result="${result}"}`) as number), 0)
  }

  it('answers with an id, then sends the blocks in order', async () => {
    const before = await settled('traces of the console', hits)
    const socket = new Socket(node.ws)
    await socket.ask('debug_subscribe', ['traceChain', '0x0', '0x4', config])
    const [answer, ...notifications] = await socket.atLeast(5)
    expect(answer).toMatchObject({ id: 1, result: expect.stringMatching(/^0x[0-9a-f]{32}$/) })
    for (const [i, hash] of hashes.entries()) {
      const block = `0x${(i + 1).toString(16)}`
      const whole = (await rpc(node.url, 'debug_traceBlockByNumber', [block, config])).result
      const { hash: blockHash } = (await rpc(node.url, 'eth_getBlockByNumber', [block, false])).result as { hash: string }
      const params = { subscription: answer?.result, result: { block, hash: blockHash, traces: whole } }
      expect(notifications[i]).toEqual({ jsonrpc: '2.0', method: 'debug_subscription', params })
      expect(notifications[i]?.params?.result.traces[0]?.txHash).toBe(hash)
    }
    expect(socket.messages).toHaveLength(5)
    // Four for the subscription, four for the questions above.
    expect((await hits()) - before).toBe(8)
    socket.close()
  })

  it('refuses what go-ethereum refuses, in its words', async () => {
    const socket = new Socket(node.ws)
    await socket.ask('debug_subscribe', ['traceChain', '0x4', '0x4', config], 1)
    await socket.ask('debug_subscribe', ['traceChain', '0x0', '0x63', config], 2)
    await socket.ask('debug_subscribe', ['newHeads', '0x0', '0x1'], 3)
    await socket.ask('debug_unsubscribe', ['0x1'], 4)
    const answers = [...(await socket.atLeast(4))].sort((a, b) => (a.id ?? 0) - (b.id ?? 0)).map(({ error }) => error)
    expect(answers).toEqual([
      { code: -32000, message: 'end block (#4) needs to come after start block (#4)' },
      { code: -32000, message: 'block #99 not found' },
      { code: -32601, message: 'no "newHeads" subscription in debug namespace' },
      { code: -32000, message: 'subscription not found' },
    ])
    expect((await rpc(node.url, 'debug_subscribe', ['traceChain', '0x0', '0x1'])).error).toEqual({
      code: -32601,
      message: 'notifications not supported',
    })
    socket.close()
  })

  it('ends with debug_unsubscribe, and takes so many at a time', async () => {
    const socket = new Socket(node.ws)
    await socket.ask('debug_subscribe', ['traceChain', '0x0', '0x4'])
    const [answer] = await socket.atLeast(5)
    await socket.ask('debug_unsubscribe', [answer?.result], 2)
    // It had sent everything, and was over.
    expect((await socket.atLeast(6))[5]).toMatchObject({ id: 2, error: { message: 'subscription not found' } })
    socket.close()
  })

  it('goes at the pace of its client, a bounded number at a time', async () => {
    const sender = new Sender(node)
    const many = 4
    for (let i = 0; i < many; i++) await sender.send(CALLER, undefined, 8_000_000n)
    for (let i = 0; i < 2; i++) await sender.send(CALLER, undefined, 2_000_000n)
    await allBaked(node, hashes.length + many + 2)
    const range = ['0x4', `0x${(4 + many).toString(16)}`, config]
    const socket = new Socket(node.ws)
    // The console of the development chain traces each transaction too.
    const before = await settled('traces of the console', hits)
    await socket.ask('debug_subscribe', ['traceChain', ...range])
    await socket.atLeast(1)
    socket.pause()
    await until('a first trace', async () => (await hits()) > before)
    let asked = 0
    // The traces in flight come to rest: the node holds one trace back, and starts no further one.
    for (let same = 0; same < 10; same++) {
      await sleep(100)
      const now = (await hits()) - before
      if (now !== asked) same = 0
      asked = now
    }
    expect(asked).toBeLessThan(3)
    socket.resume()
    const blocks = (await socket.atLeast(1 + many)).slice(1).map(({ params }) => Number(params?.result.block))
    expect(blocks).toEqual(Array.from({ length: many }, (_, i) => 5 + i))
    expect((await hits()) - before).toBe(many)
    socket.close()

    // Long enough that all are in flight at the same time.
    const short = [`0x${(4 + many).toString(16)}`, `0x${(6 + many).toString(16)}`, config]
    const crowd = new Socket(node.ws)
    for (let id = 1; id <= 9; id++) await crowd.ask('debug_subscribe', ['traceChain', ...short], id)
    // As each message arrives, so that none of the eight is over by then.
    const answered = () => crowd.messages.filter(({ id }) => id !== undefined)
    for (let count = 9; answered().length < 9; count++) await crowd.atLeast(count)
    const answers = answered()
    expect(answers.filter(({ result }) => result !== undefined)).toHaveLength(8)
    expect(answers.find(({ id }) => id === 9)?.error).toEqual({
      code: -32005,
      message: 'too many subscriptions on this connection: at most 8',
    })
    // One that ends makes room.
    await crowd.ask('debug_unsubscribe', [answers.find(({ id }) => id === 8)?.result], 10)
    await crowd.ask('debug_subscribe', ['traceChain', ...short], 11)
    await until('both answers', async () => [10, 11].every((of) => crowd.messages.some(({ id }) => id === of)))
    expect(crowd.messages.find(({ id }) => id === 10)?.result).toBe(true)
    expect(crowd.messages.find(({ id }) => id === 11)?.result).toMatch(/^0x[0-9a-f]{32}$/)
    crowd.close()
  })
})
