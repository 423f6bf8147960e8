// Every limit of the listeners, reached over HTTP and over WebSocket, and the answer to a client
// that exceeds it.
import http from 'node:http'
import net from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { Core } from '../../ts/core/port.ts'
import type { Server } from '../../ts/server/index.ts'
import { SUBSCRIPTIONS_MAX } from '../../ts/server/limits.ts'
import { until } from '../e2e/waiting.ts'
import { fakeCore } from './fake-core.ts'
import { type Flags, serveCore } from './serving.ts'

const opened: Server[] = []
const sockets: { destroy?: () => void; terminate?: () => void }[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) (socket.terminate ?? socket.destroy)?.call(socket)
  for (const server of opened.splice(0)) await server.stop()
})

async function serve(flags: Flags = {}, core: Core = fakeCore({ blockNumber: '"0x1b"', chainId: '"0x1"' })): Promise<Server> {
  const server = await serveCore(core, flags)
  opened.push(server)
  return server
}

interface Reply {
  readonly status: number
  readonly text: string
}

function post({ httpUrl }: Server, body: string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json' }, agent: false }
    const request = http.request(httpUrl ?? '', options, (response) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

async function connect({ wsUrl }: Server): Promise<WebSocket> {
  const socket = new WebSocket(wsUrl ?? '')
  sockets.push(socket)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return socket
}

/** The next message. */
const heard = (socket: WebSocket): Promise<unknown> =>
  new Promise((resolve) => socket.once('message', (data) => resolve(JSON.parse(data.toString()))))

/** A message and the answer to it. */
async function say(socket: WebSocket, body: string): Promise<unknown> {
  const answer = heard(socket)
  socket.send(body)
  return await answer
}

const call = (id: number, method: string, params: unknown[] = []) => ({ jsonrpc: '2.0', id, method, params })
const text = (...calls: unknown[]): string => JSON.stringify(calls)
const ok = (id: number, result = '0x1b') => ({ jsonrpc: '2.0', id, result })
const failed = (id: number | null, code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } })

/** The answer over HTTP and that over WebSocket, which must be the same. */
async function both(server: Server, body: string): Promise<unknown> {
  const [{ status, text: answer }, message] = [await post(server, body), await say(await connect(server), body)]
  expect(status).toBe(200)
  expect(message).toEqual(JSON.parse(answer))
  return message
}

describe('batches', () => {
  it('of too many requests get one error with the first id', async () => {
    const server = await serve({ 'evm.batch_request_limit': '2' })
    const three = text(call(1, 'eth_blockNumber'), call(2, 'eth_blockNumber'), call(3, 'eth_blockNumber'))
    expect(await both(server, three)).toEqual([failed(1, -32600, 'batch too large')])
    expect(await both(server, text(call(1, 'eth_blockNumber'), call(2, 'eth_blockNumber')))).toEqual([ok(1), ok(2)])
  })

  it('whose answers are too long get -32003 for the rest', async () => {
    const core = fakeCore({ blockNumber: `"0x${'1'.repeat(1500)}"` })
    const server = await serve({ 'evm.batch_response_max_size': '1 KiB' }, core)
    const answer = (await both(server, text(call(1, 'eth_blockNumber'), call(2, 'eth_blockNumber')))) as unknown[]
    expect(answer[0]).toMatchObject({ id: 1, result: `0x${'1'.repeat(1500)}` })
    expect(answer[1]).toEqual(failed(2, -32003, 'response too large'))
  })

  it('that are mixed answer each element for itself', async () => {
    const server = await serve()
    const mixed = `[${JSON.stringify(call(1, 'eth_blockNumber'))},7,{"jsonrpc":"1.0","id":2,"method":"eth_blockNumber"},{"id":3},[],${JSON.stringify(
      call(4, 'eth_nothing'),
    )},{"jsonrpc":"2.0","method":"eth_blockNumber"},${JSON.stringify(call(5, 'eth_getBalance', ['x']))},${JSON.stringify(call(6, 'eth_chainId'))}]`
    const answer = (await both(server, mixed)) as { id: unknown; error?: { code: number }; result?: unknown }[]
    expect(answer.map(({ id, error, result }) => [id, error?.code ?? result])).toEqual([
      [1, '0x1b'],
      [null, -32600],
      [2, -32600],
      [3, -32600],
      [null, -32600],
      [4, -32601],
      [5, -32602],
      [6, '0x1'],
    ])
  })

  it('that do not read are one error', async () => {
    const server = await serve()
    for (const body of ['[', `[${JSON.stringify(call(1, 'eth_blockNumber'))}`, '{"jsonrpc":"2.0",', '', 'null]', '\u0000']) {
      expect(await both(server, body), body).toEqual(failed(null, -32700, 'parse error'))
    }
    expect(await both(server, '[]')).toEqual(failed(null, -32600, 'empty batch'))
    expect(await both(server, `${'['.repeat(10_000)}${']'.repeat(10_000)}`)).toMatchObject({ error: { code: -32700 } })
  })
})

describe('methods that are denied', () => {
  it('do not exist, for their own element, over both', async () => {
    const server = await serve({ 'evm.deny_list': 'eth_chainId' })
    const missing = 'the method eth_chainId does not exist/is not available'
    expect(await both(server, text(call(1, 'eth_blockNumber'), call(2, 'eth_chainId')))).toEqual([ok(1), failed(2, -32601, missing)])
    expect(await both(server, JSON.stringify(call(3, 'eth_chainId')))).toEqual(failed(3, -32601, missing))
  })
})

describe('buckets', () => {
  it('are empty on both transports, and a batch counts each', async () => {
    const server = await serve({
      'evm.rate_limiting_enabled': 'true',
      'evm.ip_rate_limit_rps': '1',
      'evm.ip_rate_limit_burst': '3',
      'evm.batch_request_limit': '3',
    })
    const socket = await connect(server)
    const two = text(call(1, 'eth_blockNumber'), call(2, 'eth_blockNumber'))
    expect(await say(socket, two)).toEqual([ok(1), ok(2)])
    expect(await say(socket, two)).toEqual([failed(1, -32005, 'too many requests')])
    expect(await say(socket, JSON.stringify(call(3, 'eth_blockNumber')))).toEqual(ok(3))
    const { status, text: answer } = await post(server, JSON.stringify(call(4, 'eth_blockNumber')))
    expect([status, JSON.parse(answer)]).toEqual([429, failed(4, -32005, 'too many requests')])
  })
})

describe('connections', () => {
  it('over the limit are closed, and freed places are reused', async () => {
    const server = await serve({ 'evm.max_open_connections': '2', 'evm.max_share_per_client': '1' })
    const [first, second] = [await connect(server), await connect(server)]
    const third = new WebSocket(server.wsUrl ?? '')
    await new Promise((resolve) => third.once('error', resolve))
    expect(await say(first, JSON.stringify(call(1, 'eth_blockNumber')))).toEqual(ok(1))
    second.terminate()
    let next: WebSocket | undefined
    await until('the room of the one that left', async () => {
      next = await connect(server).catch(() => undefined)
      return next !== undefined
    })
    expect(await say(next as WebSocket, JSON.stringify(call(2, 'eth_blockNumber')))).toEqual(ok(2))
    // The port of HTTP has its own limit.
    expect((await post(server, JSON.stringify(call(3, 'eth_blockNumber')))).status).toBe(200)
  })
})

/** A busy machine cuts off later; without the limit a client would continue for far longer. */
const LATE_MS = 60_000

/**
 * Writes pieces to the port of HTTP, one every so many milliseconds; returns what arrived until the
 * other side closed.
 */
function drip({ httpUrl }: Server, pieces: readonly string[], everyMs: number): Promise<{ got: string; ms: number }> {
  return new Promise((resolve) => {
    const began = Date.now()
    const socket = net.connect(Number(new URL(httpUrl ?? '').port), '127.0.0.1')
    sockets.push(socket)
    let got = ''
    let at = 0
    const timer = setInterval(() => socket.write(pieces[at++ % pieces.length] as string), everyMs)
    socket.on('data', (data) => {
      got += data
    })
    socket.on('error', () => undefined)
    socket.on('close', () => {
      clearInterval(timer)
      resolve({ got, ms: Date.now() - began })
    })
  })
}

describe('clients that send slowly', () => {
  it('byte by byte are cut off by evm.read_timeout', async () => {
    const server = await serve({ 'evm.read_timeout': '1s', 'evm.body_read_idle_timeout': '500ms' })
    const head = 'POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n'
    const slow = drip(server, [head, ...Array<string>(4999).fill(' ')], 20)
    for (let i = 0; i < 5; i++) expect((await post(server, JSON.stringify(call(1, 'eth_blockNumber')))).status).toBe(200)
    const { got, ms } = await slow
    expect(got).toMatch(/^HTTP\/1.1 408 /)
    expect([ms >= 900, ms < LATE_MS], String(ms)).toEqual([true, true])
  })

  it('byte after byte of their headers too', async () => {
    const server = await serve({ 'evm.read_header_timeout': '1s' })
    const { got, ms } = await drip(server, ['POST / HTTP/1.1\r\n', ...Array<string>(500).fill('a')], 20)
    expect(got).toMatch(/^HTTP\/1.1 408 /)
    expect([ms >= 900, ms < LATE_MS], String(ms)).toEqual([true, true])
  })

  it('with headers that are too long get 431', async () => {
    const server = await serve()
    const { got } = await drip(server, [`POST / HTTP/1.1\r\nhost: localhost\r\nx: ${'a'.repeat(40_000)}\r\n\r\n`], 20)
    expect(got).toMatch(/^HTTP\/1.1 431 /)
  })
})

describe('a WebSocket whose other end has gone without a word', () => {
  it('is cut off without an answer to a ping, others stay', async () => {
    const server = await serve({ 'evm.ws_ping_interval': '200ms' })
    const alive = await connect(server)
    const silent = net.connect(Number(new URL(server.wsUrl ?? '').port), '127.0.0.1')
    sockets.push(silent)
    const began = Date.now()
    let got = ''
    silent.on('data', (data) => {
      got += data.toString('latin1')
    })
    silent.on('error', () => undefined)
    const closed = new Promise<number>((resolve) => silent.on('close', () => resolve(Date.now() - began)))
    const upgrade =
      'connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n'
    silent.write(`GET / HTTP/1.1\r\nhost: localhost\r\n${upgrade}\r\n`)
    const ms = await closed
    expect(got).toMatch(/^HTTP\/1.1 101 /)
    expect(got.endsWith('\x89\x00'), 'a ping came').toBe(true)
    expect([ms >= 200, ms < LATE_MS], String(ms)).toEqual([true, true])
    expect(await say(alive, JSON.stringify(call(1, 'eth_blockNumber')))).toEqual(ok(1))
  })
})

describe('WebSocket messages', () => {
  it('that are too long close with 1009, fragmented or not', async () => {
    const server = await serve({ 'evm.ws_max_payload_bytes': '2 KiB' })
    const whole = await connect(server)
    whole.send(' '.repeat(3000))
    expect(await new Promise((resolve) => whole.once('close', resolve))).toBe(1009)
    const parts = await connect(server)
    for (let i = 0; i < 3; i++) parts.send(' '.repeat(1000), { fin: false })
    expect(await new Promise((resolve) => parts.once('close', resolve))).toBe(1009)
  })

  it('begin so many subscriptions and no more', async () => {
    const server = await serve()
    const socket = await connect(server)
    const answers: { id: number; result?: string; error?: { code: number; message: string } }[] = []
    const all = new Promise<void>((resolve) =>
      socket.on('message', (data) => {
        answers.push(JSON.parse(data.toString()))
        if (answers.length === SUBSCRIPTIONS_MAX + 1) resolve()
      }),
    )
    for (let i = 0; i <= SUBSCRIPTIONS_MAX; i++) socket.send(JSON.stringify(call(i, 'eth_subscribe', ['newHeads'])))
    await all
    const refused = answers.filter(({ error }) => error !== undefined)
    expect(refused).toHaveLength(1)
    expect(refused[0]?.error).toEqual({ code: -32005, message: `too many subscriptions on this connection: at most ${SUBSCRIPTIONS_MAX}` })
    const known = answers.find(({ result }) => result !== undefined)?.result
    expect(await say(socket, JSON.stringify(call(1, 'eth_unsubscribe', [known])))).toEqual({ jsonrpc: '2.0', id: 1, result: true })
    expect(await say(socket, JSON.stringify(call(2, 'eth_subscribe', ['newHeads'])))).toMatchObject({ id: 2, result: expect.any(String) })
  })
})
