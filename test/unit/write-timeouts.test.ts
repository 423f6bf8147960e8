// Clients that do not read are cut off, whichever way their answer goes.
import http from 'node:http'
import net from 'node:net'
import zlib from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import type { Core, ResultStream } from '../../ts/core/port.ts'
import type { Server } from '../../ts/server/index.ts'
import { fakeCore } from './fake-core.ts'
import { type Flags, serveCore } from './serving.ts'

const opened: { stop: () => Promise<void> }[] = []
const sockets: net.Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of opened.splice(0)) await server.stop()
})

/** More than the buffers of two sockets hold, and not to be compressed away. */
const LARGE_BYTES = 24 * 1024 * 1024

const large = (): string => JSON.stringify(`0x${Buffer.alloc(LARGE_BYTES / 2, 0xab).toString('hex')}`)

/** A stream whose work is done long before its client has it. */
function stream(): ResultStream {
  const chunks = ['[', ...Array.from({ length: 24 }, (_, i) => `"${String(i).padEnd(1024 * 1024, 'x')}",`), '0]']
  return {
    next: async () => (chunks.length === 0 ? null : Buffer.from(chunks.shift() as string)),
    cancel: () => undefined,
  }
}

async function serve(flags: Flags, core: Core): Promise<Server> {
  const server = await serveCore(core, flags)
  opened.push(server)
  return server
}

/** A client that sends and never reads; resolves when its connection has ended. */
function neverReads(url: string, text: string): { closed: Promise<void>; socket: net.Socket } {
  const { hostname, port } = new URL(url)
  const socket = net.connect(Number(port), hostname)
  sockets.push(socket)
  socket.on('error', () => undefined)
  socket.pause()
  socket.write(text)
  return { socket, closed: new Promise((resolve) => socket.once('close', () => resolve())) }
}

/**
 * Whether the node closes its end of a connection within so many milliseconds; a socket that is not
 * read does not show it.
 */
async function endsWithin(connections: () => Promise<number>, ms: number): Promise<boolean> {
  for (const until = performance.now() + ms; performance.now() < until; ) {
    if ((await connections()) === 0) return true
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return false
}

const BODY = (method: string, params: unknown[] = []): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const post = (body: string, ...headers: string[]): string =>
  [
    'POST / HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/json',
    ...headers,
    `Content-Length: ${Buffer.byteLength(body)}`,
    '',
    body,
  ].join('\r\n')

/**
 * Connections of a node's listeners, from the system's view of this process, which has both ends.
 */
function counted(): { connections: () => Promise<number>; accepted: () => Promise<void>; restore: () => void } {
  const servers: net.Server[] = []
  let accepted = 0
  const { listen } = net.Server.prototype
  net.Server.prototype.listen = function (this: net.Server, ...args: unknown[]) {
    servers.push(this)
    this.on('connection', () => accepted++)
    return Reflect.apply(listen, this, args)
  } as typeof listen
  const count = (server: net.Server): Promise<number> =>
    new Promise((resolve, reject) => server.getConnections((e, n) => (e ? reject(e) : resolve(n))))
  return {
    connections: async () => (await Promise.all(servers.map(count))).reduce((sum, n) => sum + n, 0),
    accepted: async () => {
      while (accepted === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    },
    restore: () => {
      net.Server.prototype.listen = listen
    },
  }
}

const code = fakeCore({ getCode: large(), chainId: '"0x1"' }, stream)
const CODE = BODY('eth_getCode', [`0x${'00'.repeat(20)}`])
const TRACE = BODY('debug_traceBlockByNumber', ['0x1'])
const WAYS: Readonly<Record<string, string>> = {
  'a whole answer on the fast path': post(CODE),
  'a whole answer by node:http': post(CODE, 'TE: trailers'),
  'a stream on the fast path': post(TRACE),
  'a stream by node:http': post(TRACE, 'TE: trailers'),
  'refusals one after the other': 'PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n'.repeat(20_000),
}

describe('a client that never reads is cut off', () => {
  it.each(Object.keys(WAYS))('with %s', async (way) => {
    const { connections, accepted, restore } = counted()
    try {
      const server = await serve({ 'evm.write_timeout': '1s', 'evm.trace_stall_timeout': '1s', 'evm.idle_timeout': '1h' }, code)
      neverReads(server.httpUrl ?? '', WAYS[way] as string)
      await accepted()
      expect(await endsWithin(connections, 30_000)).toBe(true)
    } finally {
      restore()
    }
  })

  it('with the last part of a stream that fits the send-ahead', async () => {
    const { connections, accepted, restore } = counted()
    try {
      // Enough that some waits in this process, less than makes the stream wait.
      let left = 0
      const core = fakeCore({}, () => {
        left = 100
        return {
          next: async () => (left-- > 0 ? Buffer.alloc(64 * 1024, 0x61) : null),
          cancel: () => undefined,
        }
      })
      const server = await serve({ 'evm.trace_stall_timeout': '1s', 'evm.idle_timeout': '1h' }, core)
      neverReads(server.httpUrl ?? '', post(TRACE))
      await accepted()
      expect(await endsWithin(connections, 20_000)).toBe(true)
    } finally {
      restore()
    }
  })

  it('of a WebSocket that was refused', async () => {
    const { connections, accepted, restore } = counted()
    try {
      const server = await serve({ 'evm.write_timeout': '1s', 'evm.ws_origins': 'https://a.example' }, code)
      const upgrade = `GET /elsewhere HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${'a'.repeat(22)}==\r\nSec-WebSocket-Version: 13\r\n\r\n`
      const { socket } = neverReads(server.wsUrl ?? '', upgrade)
      socket.allowHalfOpen = true
      await accepted()
      expect(await endsWithin(connections, 20_000)).toBe(true)
    } finally {
      restore()
    }
  })
})

describe('a client that reads slowly', () => {
  it('gets all of its answer', async () => {
    const server = await serve({ 'evm.write_timeout': '1s' }, code)
    const { hostname, port } = new URL(server.httpUrl ?? '')
    const socket = net.connect(Number(port), hostname)
    sockets.push(socket)
    socket.write(post(CODE))
    let got = 0
    await new Promise<void>((resolve) => {
      socket.on('data', (chunk) => {
        got += chunk.length
        if (got > LARGE_BYTES) return resolve()
        // About 2.5 s in all.
        socket.pause()
        setTimeout(() => socket.resume(), 5)
      })
      socket.on('close', () => resolve())
    })
    expect(got).toBeGreaterThan(LARGE_BYTES)
  })

  it('is served again on the same connection', async () => {
    const server = await serve({ 'evm.write_timeout': '1s' }, code)
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    const ask = (body: string): Promise<Buffer> =>
      new Promise((resolve, reject) => {
        const headers = { 'content-type': 'application/json', 'accept-encoding': 'gzip' }
        const request = http.request(server.httpUrl ?? '', { method: 'POST', agent, headers }, (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks)))
        })
        request.on('error', reject).end(body)
      })
    expect(zlib.gunzipSync(await ask(CODE)).length).toBeGreaterThan(LARGE_BYTES)
    // Longer than evm.write_timeout, less than evm.idle_timeout.
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect((await ask(BODY('eth_chainId'))).toString()).toContain('"0x1"')
    agent.destroy()
  })
})
