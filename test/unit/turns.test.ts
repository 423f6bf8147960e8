// Requests that arrive at once are served in several turns of the event loop, clients in turns.
import http from 'node:http'
import net from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { LineBudget } from '../../ts/log/bounded.ts'
import type { Server } from '../../ts/server/index.ts'
import { Turns } from '../../ts/server/turns.ts'
import { fakeCore } from './fake-core.ts'
import { serveCore } from './serving.ts'

/** Requests that take `ms` milliseconds each on a clock of their own, and what was served. */
function requests(ms: number): { turns: Turns; served: string[]; ask: (line: string) => void } {
  let now = 0
  const turns = new Turns(() => now)
  const served: string[] = []
  const ask = (line: string): void =>
    turns.run(line, () => {
      served.push(line)
      now += ms
    })
  return { turns, served, ask }
}

describe('turns of the event loop', () => {
  it('serve what arrives within this turn', () => {
    const { turns, served, ask } = requests(0.1)
    for (let i = 0; i < 5; i++) ask('a')
    expect(served).toHaveLength(5)
    expect(turns.waiting).toBe(0)
  })

  it('leave the rest of a burst for later turns', async () => {
    const { turns, served, ask } = requests(0.5)
    for (let i = 0; i < 6; i++) ask('a')
    expect(served).toHaveLength(2)
    await turn()
    expect(served).toHaveLength(4)
    await turn()
    expect(served).toHaveLength(6)
    expect(turns.waiting).toBe(0)
  })

  it('serve other clients before the rest of a burst', async () => {
    const { served, ask } = requests(0.5)
    for (let i = 0; i < 100; i++) ask('many')
    ask('one')
    await turn()
    expect(served).toEqual(['many', 'many', 'many', 'one'])
  })

  it('end with a burst, however cheap its requests are', async () => {
    const { turns, served, ask } = requests(0)
    for (let i = 0; i < 100; i++) ask('a')
    const first = served.length
    expect(first).toBeGreaterThan(1)
    expect(first).toBeLessThan(100)
    while (turns.waiting > 0) await turn()
    expect(served).toHaveLength(100)
  })

  it('let what continues a request wait too', async () => {
    const { turns, served, ask } = requests(1)
    expect(turns.room('a')).toBeUndefined()
    ask('a')
    const room = turns.room('a')
    expect(room).toBeInstanceOf(Promise)
    void room?.then(() => served.push('continued'))
    await turn()
    expect(served).toEqual(['a', 'continued'])
  })
})

const opened: Server[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const server of opened.splice(0)) await server.stop()
})

/** Milliseconds of the main thread that one answer of the core takes. */
const ANSWER_MS = 2

/** A node whose answers to eth_chainId block the main thread for a while. */
async function slowNode(flags: Record<string, string> = {}): Promise<URL> {
  const fake = fakeCore({ blockNumber: '"0x1b"' })
  const request: typeof fake.request = (op, args) => {
    if (op !== 'chainId') return fake.request(op, args)
    for (const until = performance.now() + ANSWER_MS; performance.now() < until; );
    return '"0x1"'
  }
  const server = await serveCore({ ...fake, request }, flags)
  opened.push(server)
  return new URL(server.httpUrl ?? '')
}

const BODY = (method: string): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] })

/** Sends one request and resolves with its answer. */
type Ask = (method: string) => Promise<string>

/** A connection from an address that the node has served once. */
async function client(url: URL, from: string, te: boolean): Promise<Ask> {
  const socket = net.connect({ host: url.hostname, port: Number(url.port), localAddress: from })
  const more = te ? 'TE: trailers\r\n' : ''
  const ask: Ask = (method) => {
    const body = BODY(method)
    socket.write(
      `POST / HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`,
    )
    return new Promise((resolve) => socket.once('data', (data) => resolve(data.toString())))
  }
  await ask('eth_blockNumber')
  return ask
}

describe('a burst of requests on a listener', () => {
  for (const [name, te] of [
    ['the fast path', false],
    ['node:http', true],
  ] as const)
    it(`does not hold up another client: ${name}`, async () => {
      const url = await slowNode()
      const many = await Promise.all(Array.from({ length: 50 }, () => client(url, '127.0.0.2', te)))
      const other = await client(url, '127.0.0.3', te)
      await other('eth_chainId')
      let answered = 0
      const burst = many.map((ask) => ask('eth_chainId').then(() => answered++))
      const text = await other('eth_blockNumber')
      expect(text).toContain('"result":"0x1b"')
      expect(answered).toBeLessThan(25)
      await Promise.all(burst)
    })

  it('answers requests in the order of their connection', async () => {
    const url = await slowNode()
    const socket = net.connect({ host: url.hostname, port: Number(url.port) })
    const head = `POST / HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n`
    const ids = Array.from({ length: 10 }, (_, id) => id)
    let text = ''
    socket.on('data', (data) => {
      text += data
    })
    for (const id of ids) {
      const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_chainId', params: [] })
      socket.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`)
      await turn()
    }
    await vi.waitFor(() => expect(text.match(/"id":\d+/g)).toHaveLength(ids.length))
    socket.destroy()
    expect(text.match(/"id":\d+/g)).toEqual(ids.map((id) => `"id":${id}`))
  })

  it('leaves no request behind where clients disconnect', async () => {
    const url = await slowNode({ 'evm.max_concurrent_request_bytes': '4KiB', 'evm.max_request_body_bytes': '4KiB' })
    for (let round = 0; round < 10; round++) {
      const sockets = Array.from({ length: 20 }, () => net.connect({ host: url.hostname, port: Number(url.port) }))
      await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('connect', resolve))))
      const body = BODY('eth_chainId')
      for (const socket of sockets)
        socket.write(
          `POST / HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        )
      await new Promise((resolve) => setTimeout(resolve, ANSWER_MS * 3))
      for (const socket of sockets) socket.destroy()
    }
    // Bytes of requests whose clients have gone are released: a large body still finds room.
    const body = BODY('eth_blockNumber').padEnd(3500)
    const status = (): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const options = { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } }
        const sent = http.request(url, options, (response) => resolve(response.resume().statusCode))
        sent.on('error', reject).end(body)
      })
    // The server may see the end of the last ones after it.
    await expect.poll(status).toBe(200)
  })
})

describe('lines of the log that clients cause', () => {
  it('are bounded in each second, and the others counted', () => {
    vi.useFakeTimers()
    const reports: number[] = []
    const lines = new LineBudget((count) => reports.push(count))
    const taken = (): number => Array.from({ length: 50 }, () => lines.take()).filter(Boolean).length
    expect(taken()).toBe(20)
    vi.advanceTimersByTime(1000)
    expect(reports).toEqual([30])
    expect(taken()).toBe(20)
    vi.advanceTimersByTime(1000)
    expect(reports).toEqual([30, 30])
    vi.advanceTimersByTime(5000)
    expect(reports).toEqual([30, 30])
  })
})
