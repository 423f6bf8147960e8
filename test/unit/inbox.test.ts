// What a WebSocket connection receives: bytes and messages are counted from the first frame to the
// answer, and nothing outlives the connection.
import { randomBytes } from 'node:crypto'
import net from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { resolveSettings, type SettingKey } from '../../ts/config/index.ts'
import { EMPTY } from '../../ts/core/body.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { ByteBudget } from '../../ts/server/admission/budget.ts'
import { FrameCounter } from '../../ts/server/frames.ts'
import { type Server, startServer } from '../../ts/server/index.ts'
import { Queue } from '../../ts/server/queue.ts'
import { fakeCore } from './fake-core.ts'

const opened: Server[] = []
const sockets: net.Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of opened.splice(0)) await server.stop()
})

/** The server, the messages that it began to serve, and what lets `released` be answered. */
interface Serving {
  readonly wsUrl: string
  readonly served: () => number
  readonly release: () => void
}

/**
 * A server that counts the messages that it begins to serve; those with the id 0 are never
 * answered.
 */
async function serve(flags: Partial<Record<SettingKey, string>> = {}): Promise<Serving> {
  const { settings } = resolveSettings({
    flags: new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0', 'evm.shutdown_timeout': '0s', ...flags })),
  })
  let served = 0
  let release = (): void => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const dispatch = makeDispatch(rpcContext(fakeCore({ blockNumber: '"0x1b"' }), settings), batchLimits(settings), () => undefined)
  const counting: typeof dispatch = (text, client) => {
    served++
    if (text === 'released') return released.then(() => ({ body: EMPTY, headers: {} }))
    if (typeof text === 'string' && text.startsWith('later')) return sleep(500).then(() => ({ body: EMPTY, headers: {} }))
    return text === 'held' ? new Promise(() => undefined) : dispatch(text, client)
  }
  const server = await startServer(settings, counting, { report: () => undefined })
  opened.push(server)
  return { wsUrl: server.wsUrl ?? '', served: () => served, release }
}

/** A connection of which the test writes the frames itself. */
async function raw(wsUrl: string): Promise<net.Socket> {
  const { hostname, port } = new URL(wsUrl)
  const socket = net.connect(Number(port), hostname)
  sockets.push(socket)
  socket.on('error', () => undefined)
  const key = randomBytes(16).toString('base64')
  socket.write(
    `GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
  )
  const head = await new Promise<Buffer>((resolve) => socket.once('data', resolve))
  expect(head.toString()).toMatch(/^HTTP\/1\.1 101 /)
  return socket
}

const TEXT = 0x1
const CONTINUED = 0x0
const PING = 0x9

/** A frame with a mask of zeros. */
function frame(opcode: number, payload: Buffer, fin = true): Buffer {
  const size = payload.length
  const length = size < 126 ? [0x80 | size] : size < 65_536 ? [0xfe, size >> 8, size & 255] : [0xff, 0, 0, 0, 0, ...u32(size)]
  return Buffer.concat([Buffer.from([(fin ? 0x80 : 0) | opcode, ...length, 0, 0, 0, 0]), payload])
}
const u32 = (n: number): number[] => [n >>> 24, (n >> 16) & 255, (n >> 8) & 255, n & 255]

/** What a connection has sent back and how it ended. */
function heard(socket: net.Socket): { text: () => string; closed: Promise<void> } {
  let text = ''
  socket.on('data', (data) => {
    text += data.toString('latin1')
  })
  return { text: () => text, closed: new Promise((resolve) => socket.once('close', () => resolve())) }
}

/** The code of a close frame at the end of what came. */
const closeCode = (text: string): number => {
  const at = text.lastIndexOf('\x88')
  return Buffer.from(text.slice(at + 2, at + 4), 'latin1').readUInt16BE()
}

const REQUEST = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}')

describe('a queue', () => {
  it('gives in order what was put in, whatever its length', () => {
    const queue = new Queue<number>()
    let [put, taken] = [0, 0]
    for (let round = 0; round < 2000; round++) {
      for (let i = (round * 7) % 50; i > 0; i--) queue.push(put++)
      for (let i = (round * 11) % 49; i > 0 && queue.length > 0; i--) expect(queue.shift()).toBe(taken++)
      expect([queue.length, queue.first]).toEqual([put - taken, put === taken ? undefined : taken])
    }
    queue.clear()
    expect([queue.length, queue.shift(), queue.first]).toEqual([0, undefined, undefined])
  })
})

describe('frames', () => {
  const stream = Buffer.concat([
    frame(TEXT, Buffer.alloc(5)),
    frame(TEXT, Buffer.alloc(200), false),
    frame(PING, Buffer.alloc(100)),
    frame(CONTINUED, Buffer.alloc(0), false),
    frame(CONTINUED, Buffer.alloc(70_000)),
    frame(TEXT, Buffer.alloc(0)),
    frame(PING, Buffer.alloc(0)),
  ])

  it('are counted without headers and control frames', () => {
    for (const size of [1, 2, 3, 7, 100, 65_536, stream.length]) {
      const counter = new FrameCounter()
      let bytes = 0
      for (let at = 0; at < stream.length; at += size) bytes += counter.feed(stream.subarray(at, at + size))
      expect([bytes, counter.messages, counter.unfinished], `${size}`).toEqual([70_205, 3, false])
    }
  })

  it('show whether something is not complete', () => {
    const counter = new FrameCounter()
    const unfinishedAfter = (...bytes: Buffer[]): boolean => {
      for (const part of bytes) counter.feed(part)
      return counter.unfinished
    }
    expect(unfinishedAfter()).toBe(false)
    expect(unfinishedAfter(frame(PING, Buffer.alloc(10)))).toBe(false)
    expect(unfinishedAfter(frame(TEXT, Buffer.alloc(10)).subarray(0, 3))).toBe(true)
    expect(unfinishedAfter(frame(TEXT, Buffer.alloc(10)).subarray(3))).toBe(false)
    expect(unfinishedAfter(frame(TEXT, Buffer.alloc(10), false))).toBe(true)
    expect(unfinishedAfter(frame(PING, Buffer.alloc(10)))).toBe(true)
    expect(unfinishedAfter(frame(CONTINUED, Buffer.alloc(0)))).toBe(false)
  })
})

describe('messages', () => {
  it('without a byte in them slow their sender down too', async () => {
    const { wsUrl, served } = await serve({ 'evm.ws_max_in_flight': '4' })
    const socket = await raw(wsUrl)
    const held = Array.from({ length: 4 }, () => frame(TEXT, Buffer.from('held')))
    const [empty, frames] = [frame(TEXT, Buffer.alloc(0)), 4_000_000]
    socket.write(Buffer.concat(held))
    const part = Buffer.alloc(10_000 * empty.length, empty)
    for (let sent = 0; sent < frames; sent += 10_000) socket.write(part)
    let before = -1
    while (socket.writableLength !== before) {
      before = socket.writableLength
      await sleep(1000)
    }
    expect(served()).toBe(4)
    // 24 MB of frames, more than the system's buffers hold: the node has stopped reading.
    expect(before).toBeGreaterThan(0)
  })

  it('are not served after their client has gone', async () => {
    const { wsUrl, served, release } = await serve({ 'evm.ws_max_in_flight': '1' })
    const socket = new WebSocket(wsUrl)
    await new Promise((resolve) => socket.once('open', resolve))
    socket.send('released')
    for (let i = 0; i < 500; i++) socket.send(REQUEST)
    while (served() === 0) await sleep(5)
    await sleep(100)
    expect(served()).toBe(1)
    socket.terminate()
    // In each of them the server reads, so that it has seen the end.
    for (let i = 0; i < 20; i++) await nextTurn()
    release()
    await sleep(200)
    expect(served()).toBe(1)
  })

  it('that need no waiting leave others a turn', async () => {
    const { wsUrl, served } = await serve()
    const flood = await raw(wsUrl)
    const notification = frame(TEXT, Buffer.from('{"jsonrpc":"2.0","method":"eth_blockNumber"}'))
    flood.write(Buffer.concat(Array.from({ length: 20_000 }, () => notification)))
    let most = 0
    for (let before = 0; served() < 20_000; before = served()) {
      await nextTurn()
      most = Math.max(most, served() - before)
    }
    // 64 where a read of the socket brings them, and 64 in the turn behind it.
    expect(most).toBeLessThanOrEqual(128)
  })
})

describe('a message that is not complete', () => {
  it('ends its connection with 1008 after evm.read_timeout', async () => {
    const { wsUrl } = await serve({ 'evm.read_timeout': '1s', 'evm.ws_ping_interval': 'off' })
    const [idle, slow] = [await raw(wsUrl), await raw(wsUrl)]
    const { text, closed } = heard(slow)
    slow.write(frame(TEXT, Buffer.alloc(10), false))
    const drip = setInterval(() => slow.write(frame(CONTINUED, Buffer.alloc(1), false)), 100)
    const began = performance.now()
    await closed
    clearInterval(drip)
    expect(performance.now() - began).toBeGreaterThan(900)
    expect(closeCode(text())).toBe(1008)
    expect(text()).toContain('message not complete within evm.read_timeout')
    // A connection without a message is not meant.
    expect(idle.destroyed).toBe(false)
    const answer = heard(idle)
    idle.write(frame(TEXT, REQUEST))
    while (answer.text() === '') await sleep(5)
    expect(answer.text()).toContain('0x1b')
  })

  it.each([
    ['1', 'are being served'],
    ['0.5', 'of one client (evm.max_share_per_client)'],
  ])('counts against evm.max_concurrent_request_bytes (share %s)', async (share, of) => {
    const limits = {
      'evm.max_share_per_client': share,
      'evm.max_concurrent_request_bytes': '1 MiB',
      'evm.max_request_body_bytes': '1 MiB',
      'evm.ws_admission_timeout': '200ms',
    } as const
    const { wsUrl } = await serve(limits)
    const first = await raw(wsUrl)
    const half = Buffer.alloc(700 * 1024, ' ')
    first.write(frame(TEXT, half, false))
    await sleep(200)
    const second = await raw(wsUrl)
    const refused = heard(second)
    second.write(frame(TEXT, half, false))
    await refused.closed
    expect(refused.text()).toContain(`server busy: too many bytes of requests ${of}`)
    expect(closeCode(refused.text())).toBe(1013)
    // Room comes back with the first one's answer, and with a connection that goes.
    const answered = heard(first)
    first.write(frame(CONTINUED, REQUEST))
    while (!answered.text().includes('0x1b')) await sleep(5)
    const third = await raw(wsUrl)
    third.write(frame(TEXT, half, false))
    await sleep(100)
    third.destroy()
    const fourth = await raw(wsUrl)
    const last = heard(fourth)
    fourth.write(frame(TEXT, Buffer.concat([half, REQUEST])))
    while (!last.text().includes('0x1b')) await sleep(5)
  })

  it('may be as large as an HTTP body and no larger', async () => {
    const { wsUrl } = await serve({ 'evm.max_request_body_bytes': '2 KiB' })
    const closeOf = async (bytes: number): Promise<number | string> => {
      const socket = new WebSocket(wsUrl)
      await new Promise((resolve) => socket.once('open', resolve))
      const end = new Promise<number | string>((resolve) => socket.once('close', resolve).once('message', (data) => resolve(String(data))))
      socket.send(REQUEST.toString().padEnd(bytes))
      const ended = await end
      socket.terminate()
      return ended
    }
    expect(await closeOf(2048)).toContain('0x1b')
    expect(await closeOf(2049)).toBe(1009)
  })
})

describe('a message beyond 5 MiB', () => {
  it('is read as ASCII, and ends its connection otherwise', async () => {
    const { wsUrl } = await serve({ 'evm.ws_max_payload_bytes': '8 MiB' })
    const endOf = async (text: string): Promise<number | string> => {
      const socket = new WebSocket(wsUrl, { perMessageDeflate: false })
      await new Promise((resolve) => socket.once('open', resolve))
      const end = new Promise<number | string>((resolve) => socket.once('close', resolve).once('message', (data) => resolve(String(data))))
      socket.send(text)
      const ended = await end
      socket.terminate()
      return ended
    }
    const most = 5 * 1024 * 1024
    const wide = REQUEST.toString().replace('}', ',"params":["я"]}')
    expect(await endOf(REQUEST.toString().padEnd(most + 1))).toContain('0x1b')
    expect(await endOf(wide.padEnd(most - 1))).toContain('"id":1')
    expect(await endOf(`${wide.padEnd(most)}я`)).toBe(1009)
  })
})

describe('the budget of bytes', () => {
  it('forgets those who leave while they wait', async () => {
    const budget = new ByteBudget(100)
    expect(budget.take(100)).toBe(true)
    const leaving = new AbortController()
    const left = budget.takeWithin(90, 60_000, leaving.signal)
    const next = budget.takeWithin(50, 60_000)
    leaving.abort()
    expect(await left).toBe(false)
    budget.release(50)
    expect(await next).toBe(true)
    expect(budget.taken).toBe(100)
    expect(await budget.takeWithin(1, 60_000, AbortSignal.abort())).toBe(false)
  })
})

it('pings do not end a client whose requests wait to be read', async () => {
  const { wsUrl, served } = await serve({ 'evm.ws_ping_interval': '200ms', 'evm.ws_max_in_flight': '1' })
  const socket = new WebSocket(wsUrl)
  let code: number | undefined
  socket.once('close', (given) => {
    code = given
  })
  await new Promise((resolve) => socket.once('open', resolve))
  // More than is read ahead: pongs are behind them.
  const text = `later${' '.repeat(1000)}`
  for (let i = 0; i < 2000; i++) socket.send(text)
  await sleep(1500)
  expect([code, socket.readyState]).toEqual([undefined, WebSocket.OPEN])
  expect(served()).toBeGreaterThan(1)
  socket.terminate()
})
