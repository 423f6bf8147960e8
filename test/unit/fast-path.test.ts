// The fast path: what comes in one piece is answered as what node:http reads piece by piece.
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import zlib from 'node:zlib'
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { resolveSettings } from '../../ts/config/index.ts'
import type { SharedAnswer, WholeBody } from '../../ts/core/body.ts'
import type { Core, NamedTrace, OpenOptions, ReadyTrace } from '../../ts/core/port.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { type Server, startServer } from '../../ts/server/index.ts'
import { fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

const opened: Server[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop()
})

/** Answers to eth_chainId at once, to eth_blockNumber after a while. */
function core(chainId = '"0x1"'): Core {
  const fake = fakeCore(
    {
      blockNumber: async () => {
        await sleep(5)
        return '"0x1b"'
      },
      getCode: JSON.stringify(`0x${'ab'.repeat(150_000)}`),
    },
    () => fakeStream(['[1,', '2,', '3]']),
  )
  return { ...fake, request: (op, args) => (op === 'chainId' ? chainId : fake.request(op, args)), readyTrace }
}

/** An answer of which the system takes so many bytes at once, with the head before it. */
class FakeShared implements SharedAnswer {
  static readonly released: string[] = []
  readonly length: number
  private readonly name: string
  private readonly bytes: Buffer
  private readonly taken: number

  constructor(name: string, bytes: Buffer, taken: number) {
    this.name = name
    this.bytes = bytes
    this.length = bytes.length
    this.taken = taken
  }

  send(fd: number, first: Buffer): number {
    const all = Buffer.concat([first, this.bytes])
    const sent = this.taken === 0 ? 0 : fs.writeSync(fd, all, 0, Math.min(this.taken, all.length))
    if (sent === all.length) this.release()
    return sent
  }

  copy(from = 0): Uint8Array {
    return Buffer.from(this.bytes.subarray(from))
  }

  release(): void {
    FakeShared.released.push(this.name)
  }
}

/** Bytes that the system takes of shared answers, by the numbers of their blocks. */
const TAKEN: Readonly<Record<string, number>> = { '0x10': 0, '0x11': 20, '0x12': 1000, '0x13': Number.MAX_SAFE_INTEGER }

/**
 * Ready answers by number: block 1 has a short answer, block 2 a long one, in gzip if that is
 * accepted.
 */
function readyTrace({ of, named }: NamedTrace, { head, tail, gzipOver }: OpenOptions): ReadyTrace | undefined {
  if (of !== 'blockByNumber' || named === '0x3') return undefined
  const text = `${head}${JSON.stringify('ready'.repeat(named === '0x1' ? 4000 : 40_000))}${tail}`
  const taken = TAKEN[named]
  if (taken !== undefined) {
    return { body: { kind: 'shared', answer: new FakeShared(named, Buffer.from(text), taken) }, historical: false }
  }
  const isPacked = gzipOver !== undefined && text.length > gzipOver
  const bytes = isPacked ? zlib.gzipSync(text, { level: named === '0x1' ? 6 : 0 }) : Buffer.from(text)
  // Short answers are text, also in gzip, as the core gives them.
  const body: WholeBody = named === '0x1' ? { kind: 'latin1', text: bytes.toString('latin1') } : { kind: 'bytes', bytes }
  return { body: isPacked ? { kind: 'gzip', length: bytes.length, member: body } : body, historical: false }
}

async function serve(flags: Record<string, string> = {}, node: Core = core()): Promise<{ port: number; stop: () => Promise<void> }> {
  const { settings } = resolveSettings({ flags: new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_enabled': 'false', ...flags })) })
  const context = { core: node, namespaces: settings['evm.namespaces'], clientVersion: 'Hearth/test', ...PLAIN_RULES }
  const limits = { requests: 5, responseBytes: 1 << 20, concurrency: 4 }
  const report = (e: unknown): void => void console.error(e)
  const server = await startServer(settings, makeDispatch(context, limits, report), { report })
  opened.push(server)
  return { port: Number(new URL(server.httpUrl ?? '').port), stop: () => server.stop() }
}

/** A whole answer: its status, its headers in order of their names, and its body, inflated. */
function readable(bytes: Buffer): string {
  const end = bytes.indexOf('\r\n\r\n')
  const [status, ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = lines.filter((line) => !/^date:/i.test(line)).map((line) => line.replace(/^[^:]*/, (name) => name.toLowerCase()))
  let body = bytes.subarray(end + 4)
  if (headers.includes('transfer-encoding: chunked')) body = dechunked(body)
  if (headers.includes('content-encoding: gzip')) body = zlib.gunzipSync(body)
  return [status, ...headers.sort(), '', body.toString()].join('\n')
}

function dechunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.subarray(at, line).toString(), 16)
    if (size === 0) return Buffer.concat(parts)
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = line + 2 + size + 2
  }
}

/** Whether one answer is whole. */
function isWhole(bytes: Buffer): boolean {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)/i.exec(bytes.subarray(0, end + 2).toString('latin1'))?.[1]
  if (length !== undefined) return bytes.length >= end + 4 + Number(length)
  return bytes.includes('transfer-encoding: chunked') || bytes.includes('Transfer-Encoding: chunked')
    ? bytes.subarray(-5).toString() === '0\r\n\r\n'
    : true
}

/**
 * The answer to bytes that are sent in these pieces, until it is complete or the connection ends.
 */
function exchange(port: number, pieces: readonly string[]): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    const got: Buffer[] = []
    const done = (): void => {
      socket.destroy()
      resolve(Buffer.concat(got))
    }
    socket.on('data', (chunk) => {
      got.push(chunk)
      if (isWhole(Buffer.concat(got))) done()
    })
    socket.on('close', done).on('error', reject)
    socket.once('connect', async () => {
      for (const piece of pieces) {
        socket.write(Buffer.from(piece))
        await sleep(15)
      }
    })
  })
}

const ASK = (method: string, params: unknown[] = [], id: unknown = 1): string => JSON.stringify({ jsonrpc: '2.0', id, method, params })
const TRACE = (block: string): string => ASK('debug_traceBlockByNumber', [block, { tracer: 'callTracer' }])
const CODE = ASK('eth_getCode', [`0x${'00'.repeat(20)}`])
const HEAD = ['POST / HTTP/1.1', 'Host: localhost', 'Content-Type: application/json']

/** A request: head lines, body. */
type Asked = readonly [head: readonly string[], body: string]
const withLength = ([head, body]: Asked): string => `${[...head, `Content-Length: ${Buffer.byteLength(body)}`].join('\r\n')}\r\n\r\n${body}`
const plain = (body: string, ...more: string[]): string => withLength([[...HEAD, ...more], body])
const asking = (...head: string[]): string => withLength([head, ASK('eth_chainId')])

const REQUESTS: Readonly<Record<string, string>> = {
  'a read at once': plain(ASK('eth_chainId')),
  'a read that waits': plain(ASK('eth_blockNumber')),
  'an id in other letters': plain(ASK('eth_chainId', [], 'zwölf ☃')),
  'an unknown method': plain(ASK('eth_nothing')),
  'bad parameters': plain(ASK('eth_chainId', [1])),
  'no JSON': plain('{'),
  'an empty body': plain(''),
  'bytes that are no UTF-8': `${[...HEAD, 'Content-Length: 2'].join('\r\n')}\r\n\r\n{x`,
  'a notification': plain('{"jsonrpc":"2.0","method":"eth_chainId"}'),
  'a notification that waits': plain('{"jsonrpc":"2.0","method":"eth_blockNumber"}'),
  'a batch': plain(`[${ASK('eth_chainId')},${ASK('eth_blockNumber', [], 2)},5]`),
  'a batch that is too large': plain(`[${Array.from({ length: 6 }, (_, i) => ASK('eth_chainId', [], i)).join(',')}]`),
  'a large answer': plain(CODE),
  'a large answer in gzip': plain(CODE, 'Accept-Encoding: gzip, deflate'),
  'a small answer where gzip is taken': plain(ASK('eth_chainId'), 'accept-encoding: gzip'),
  'a small answer where nothing else is taken': plain(ASK('eth_chainId'), 'accept-encoding: gzip, identity;q=0'),
  'a stream': plain(ASK('debug_traceBlockByNumber', ['0x1'])),
  'a stream in gzip': plain(ASK('debug_traceBlockByNumber', ['0x1']), 'accept-encoding: gzip'),
  'a short trace that is ready': plain(TRACE('0x1')),
  'a short trace that is ready, in gzip': plain(TRACE('0x1'), 'accept-encoding: gzip'),
  'a long trace that is ready': plain(TRACE('0x2')),
  'a long trace that is ready, in gzip': plain(TRACE('0x2'), 'accept-encoding: gzip'),
  'a trace that is not ready': plain(TRACE('0x3')),
  'headers of all kinds': plain(
    ASK('eth_chainId'),
    'User-Agent: test/1.0 (x; y)',
    'Accept: */*',
    'X-Empty-Not: \ta b \t',
    'Connection: Keep-Alive',
  ),
  'a client that closes': plain(ASK('eth_chainId'), 'Connection: close'),
  'a page of another origin': plain(ASK('eth_chainId'), 'Origin: https://example.org'),
  'a preflight': 'OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://example.org\r\n\r\n',
  'a health check': 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'another path': asking('POST /x HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'),
  'a query': asking('POST /?x HTTP/1.1', 'Host: localhost', 'Content-Type: application/json'),
  'HTTP/1.0': asking('POST / HTTP/1.0', 'Host: localhost', 'Content-Type: application/json'),
  'no host': asking('POST / HTTP/1.1', 'Content-Type: application/json'),
  'two hosts': asking(...HEAD, 'Host: other'),
  'a host that is not served': asking('POST / HTTP/1.1', 'Host: evil.example', 'Content-Type: application/json'),
  'no type': asking('POST / HTTP/1.1', 'Host: localhost'),
  'another type': asking('POST / HTTP/1.1', 'Host: localhost', 'Content-Type: text/plain'),
  'a folded header': asking(...HEAD, 'X-A: b', ' c'),
  'a bare line feed': asking(...HEAD, 'X-A: b\nX-C: d'),
  'a space before the colon': asking(...HEAD, 'X-A : b'),
  'two lengths': asking(...HEAD, 'Content-Length: 3'),
  'a length with a sign': `${HEAD.join('\r\n')}\r\nContent-Length: +5\r\n\r\n{"a":`,
  'length and chunks': asking(...HEAD, 'Transfer-Encoding: chunked'),
  chunks: `${[...HEAD, 'Transfer-Encoding: chunked'].join('\r\n')}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'a body over the limit': plain(`"${'x'.repeat(70_000)}"`),
}

/** A request in two pieces, the second one its last byte: no lane takes that. */
const inTwo = (text: string): string[] => {
  const bytes = Buffer.from(text)
  return [bytes.subarray(0, -1).toString('latin1'), bytes.subarray(-1).toString('latin1')]
}

describe('a request in one piece', () => {
  it.each(Object.entries(REQUESTS))('is answered as one in two: %s', async (_name, text) => {
    const { port } = await serve({ 'evm.max_request_body_bytes': '64 KiB' })
    const [one, two] = await Promise.all([exchange(port, [text]), exchange(port, /[^\x20-\x7e\s]/.test(text) ? halves(text) : inTwo(text))])
    expect(readable(one)).toBe(readable(two))
    expect(one.length).toBeGreaterThan(30)
  })

  it('gets 100 Continue where it expects that', async () => {
    const { port } = await serve()
    const got = (await exchange(port, [plain(ASK('eth_chainId'), 'Expect: 100-continue')])).toString()
    expect(got).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\n/)
  })

  it('has the bytes of a ready trace, on either path', async () => {
    const { port } = await serve()
    for (const [block, encoding, bytes] of [
      ['0x1', 'identity', 20_000],
      ['0x1', 'gzip', 20_000],
      ['0x2', 'identity', 200_000],
      ['0x2', 'gzip', 200_000],
    ] as const) {
      const got = readable(await exchange(port, [plain(TRACE(block), `accept-encoding: ${encoding}`)]))
      expect(got).toMatch(/\nx-hearth-trace: baked\n/)
      expect(got.includes('content-encoding: gzip')).toBe(encoding === 'gzip')
      expect(JSON.parse(got.slice(got.indexOf('\n\n'))).result).toBe('ready'.repeat(bytes / 5))
    }
  })

  it.each(Object.keys(TAKEN))('has the bytes of shared answer %s, and releases it', async (block) => {
    FakeShared.released.length = 0
    const { port } = await serve()
    const request = plain(TRACE(block))
    for (const pieces of [[request], [request.slice(0, 9), request.slice(9)]]) {
      const got = readable(await exchange(port, pieces))
      expect(JSON.parse(got.slice(got.indexOf('\n\n'))).result).toBe('ready'.repeat(40_000))
    }
    expect(FakeShared.released).toEqual([block, block])
  })

  it('keeps the order of shared answers that follow each other', async () => {
    const { port } = await serve()
    const blocks = ['0x13', '0x2', '0x11', '0x13', '0x10', '0x12']
    const socket = net.connect({ port, host: '127.0.0.1' })
    const got: Buffer[] = []
    socket.on('error', () => undefined).on('data', (chunk) => got.push(chunk))
    for (const [id, block] of blocks.entries()) {
      socket.write(plain(ASK('debug_traceBlockByNumber', [block, { tracer: 'callTracer' }], id)))
      await sleep(2)
    }
    const answers = blocks.length * 200_000
    await vi.waitFor(() => expect(Buffer.concat(got).toString('latin1').split('ready').length - 1).toBe(answers / 5), 10_000)
    socket.destroy()
    const ids = [
      ...Buffer.concat(got)
        .toString('latin1')
        .matchAll(/"id":(\d+)/g),
    ].map(([, id]) => Number(id))
    expect(ids).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('counts for the limits of its client', async () => {
    // The clock of the buckets stands still, so that no token is added between two requests of a
    // busy machine.
    let now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    onTestFinished(() => clock.mockRestore())
    const { port } = await serve({
      'evm.rate_limiting_enabled': 'true',
      'evm.ip_rate_limit_rps': '1',
      'evm.ip_rate_limit_burst': '2',
      'evm.batch_request_limit': '2',
    })
    const status = async () => (await exchange(port, [plain(ASK('eth_chainId'))])).toString().slice(9, 12)
    expect([await status(), await status(), await status()]).toEqual(['200', '200', '429'])
    now += 999
    expect(await status()).toBe('429')
    now += 1
    expect([await status(), await status()]).toEqual(['200', '429'])
  })

  it('gives back the room that its body took', async () => {
    const { port } = await serve({ 'evm.max_concurrent_request_bytes': '1 KiB', 'evm.max_request_body_bytes': '1 KiB' })
    for (let i = 0; i < 40; i++) {
      for (const method of ['eth_chainId', 'eth_blockNumber'])
        expect((await exchange(port, [plain(ASK(method))])).toString()).toMatch(/^HTTP\/1.1 200 /)
    }
  })
})

/** Text with other letters, cut between two bytes that are none. */
function halves(text: string): string[] {
  return [text.slice(0, 20), text.slice(20)]
}

/** Sends over one connection; `answers(n)` waits for n answers, which must be of short results. */
async function connection(port: number): Promise<{ socket: net.Socket; answers: (n: number) => Promise<string[]> }> {
  const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
  let got = ''
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString()
  })
  await new Promise((resolve) => socket.once('connect', resolve))
  const found = (): string[] => got.match(/"result":"[^"]*"/g) ?? []
  return {
    socket,
    answers: async (n) => {
      await expect.poll(() => found().length).toBe(n)
      return found()
    },
  }
}

describe('a connection', () => {
  const NOW = plain(ASK('eth_chainId'))
  const LATER = plain(ASK('eth_blockNumber'))

  it('answers one request after the other, whatever they wait for', async () => {
    const { port } = await serve()
    const { socket, answers } = await connection(port)
    for (const [i, text] of [NOW, LATER, NOW, NOW, LATER, LATER, NOW].entries()) {
      socket.write(text)
      await answers(i + 1)
    }
    // Then as node:http's, and it stays that.
    socket.write(NOW.slice(0, 30))
    await sleep(20)
    socket.write(NOW.slice(30))
    await answers(8)
    socket.write(LATER)
    expect((await answers(9)).at(-1)).toBe('"result":"0x1b"')
    socket.destroy()
  })

  it('ends after the answer to a client that closes', async () => {
    const { port } = await serve()
    const closing = (method: string): string => plain(ASK(method), 'Connection: close')
    for (const first of [closing('eth_chainId'), closing('eth_blockNumber'), plain(CODE, 'connection: close')]) {
      const { socket } = await connection(port)
      let got = ''
      socket.on('data', (chunk: Buffer) => {
        got += chunk.toString()
      })
      const ended = new Promise((resolve) => socket.once('end', resolve))
      socket.write(first)
      // What comes while an answer is under way is no request any more.
      if (first === closing('eth_blockNumber')) {
        await sleep(2)
        socket.write(NOW)
      }
      await ended
      expect(got.match(/HTTP\/1.1 200 OK/g)).toHaveLength(1)
      expect(got).toMatch(/\r\nConnection: close\r\n/)
      expect(got).not.toMatch(/keep-alive/i)
      socket.destroy()
    }
  })

  it.each([
    ['4m', 120],
    ['1s', 1],
  ])('with an idle time of %s announces %i s, on either path', async (idle, seconds) => {
    const { port } = await serve({ 'evm.idle_timeout': idle })
    for (const pieces of [[NOW], inTwo(NOW)]) {
      const got = readable(await exchange(port, pieces))
      expect(got).toMatch(`\nconnection: keep-alive\n`)
      expect(got).toMatch(`\nkeep-alive: timeout=${seconds}\n`)
    }
    const refused = readable(await exchange(port, [REQUESTS['another type'] as string]))
    expect(refused).toMatch('\nconnection: close\n')
    expect(refused).not.toMatch('keep-alive')
  })

  it('keeps the order of requests that do not wait for answers', async () => {
    const { port } = await serve()
    const { socket, answers } = await connection(port)
    socket.write(LATER)
    await sleep(2)
    socket.write(NOW)
    socket.write(LATER + NOW + NOW)
    const [one, later] = ['"result":"0x1"', '"result":"0x1b"']
    expect(await answers(5)).toEqual([later, one, later, one, one])
    socket.write(NOW)
    expect((await answers(6)).at(-1)).toBe(one)
    socket.destroy()
  })

  it('answers more once a client that read nothing reads again', async () => {
    const { port } = await serve()
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true })
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.pause()
    // More than the system's buffers hold; each answer alone is less than the server sends ahead.
    const requests = 100
    for (let i = 0; i < requests; i++) {
      socket.write(plain(TRACE('0x2'), 'accept-encoding: identity'))
      await sleep(2)
    }
    await sleep(100)
    let got = 0
    let rest = ''
    const mark = '"ready'
    socket.on('data', (chunk: Buffer) => {
      const parts = (rest + chunk.toString('latin1')).split(mark)
      got += parts.length - 1
      // A mark may begin at the end of one chunk.
      rest = (parts.at(-1) as string).slice(1 - mark.length)
    })
    socket.resume()
    await expect.poll(() => got, { timeout: 10_000 }).toBe(requests)
    socket.destroy()
  })

  it('ends when idle too long, not while an answer is pending', async () => {
    const node = core()
    const slow: Core = { ...node, request: async () => sleep(1600).then(() => Buffer.from('"0x5"')) }
    const { port } = await serve({ 'evm.idle_timeout': '1s' }, slow)
    const { socket, answers } = await connection(port)
    const ended = new Promise((resolve) => socket.once('close', resolve))
    socket.write(NOW)
    expect(await answers(1)).toEqual(['"result":"0x5"'])
    const began = performance.now()
    await ended
    expect(performance.now() - began).toBeLessThan(60_000)
  })

  it('goes on after replies in parts, in gzip and in one piece', async () => {
    const { port } = await serve()
    const { socket, answers } = await connection(port)
    socket.write(plain(CODE, 'Accept-Encoding: gzip'))
    await expect.poll(() => socket.bytesRead).toBeGreaterThan(300)
    socket.write(NOW)
    await answers(1)
    // A stream makes the connection node:http's, with what came meanwhile.
    socket.write(plain(ASK('debug_traceBlockByNumber', ['0x1'])))
    socket.write(NOW)
    await answers(2)
    socket.write(LATER)
    expect(await answers(3)).toEqual(['"result":"0x1"', '"result":"0x1"', '"result":"0x1b"'])
    socket.destroy()
  })

  it('of a client that goes cancels its stream', async () => {
    let cancelled = false
    const stream = {
      next: () => sleep(2).then(() => Buffer.from('['.padEnd(64 * 1024, '1'))),
      cancel: () => {
        cancelled = true
      },
    }
    const { port } = await serve({}, { ...core(), stream: () => stream })
    const { socket } = await connection(port)
    socket.write(plain(ASK('debug_traceBlockByNumber', ['0x1'])))
    await expect.poll(() => socket.bytesRead).toBeGreaterThan(64 * 1024)
    socket.destroy()
    await expect.poll(() => cancelled).toBe(true)
  })

  it('is switched off by its setting', async () => {
    const sent = vi.spyOn(http.ServerResponse.prototype, 'end')
    onTestFinished(() => sent.mockRestore())
    const on = await serve()
    expect(readable(await exchange(on.port, [NOW]))).toContain('"result":"0x1"')
    expect(sent).toHaveBeenCalledTimes(0)
    const off = await serve({ 'evm.http_fast_path': 'false' })
    expect(readable(await exchange(off.port, [NOW]))).toContain('"result":"0x1"')
    expect(sent).toHaveBeenCalledTimes(1)
  })

  it('that is silent from the start gets 408', async () => {
    const { port } = await serve({ 'evm.read_header_timeout': '1s' })
    expect((await exchange(port, [])).toString()).toBe('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
  })

  it('is closed by a stop if idle, and answered otherwise', async () => {
    const { port, stop } = await serve({ 'evm.shutdown_timeout': '10m' })
    const [idle, fresh, busy] = await Promise.all([connection(port), connection(port), connection(port)])
    const ended = [idle, fresh, busy].map(({ socket }) => new Promise((resolve) => socket.once('close', resolve)))
    idle.socket.write(NOW)
    await idle.answers(1)
    busy.socket.write(LATER)
    await sleep(2)
    await stop()
    expect(await busy.answers(1)).toEqual(['"result":"0x1b"'])
    await Promise.all(ended)
  })

  it('whose client takes nothing is cut off', async () => {
    const { port } = await serve({ 'evm.write_timeout': '1s' }, core(JSON.stringify('x'.repeat(100_000))))
    const socket = net.connect({ port, host: '127.0.0.1' })
    socket.on('error', () => undefined)
    await new Promise((resolve) => socket.once('connect', resolve))
    let got = 0
    socket.once('data', (chunk: Buffer) => {
      got += chunk.length
      socket.pause()
      socket.on('data', (more: Buffer) => {
        got += more.length
      })
      socket.pause()
    })
    const ended = new Promise((resolve) => socket.once('close', resolve))
    // More than the buffers of both systems hold.
    const asked = 400
    for (let i = 0; i < asked; i++) {
      socket.write(NOW)
      await sleep(1)
    }
    // Long enough on a busy machine too.
    await sleep(4000)
    socket.resume()
    await ended
    expect(got).toBeGreaterThan(100_000)
    expect(got).toBeLessThan(asked * 100_000)
  })
})
