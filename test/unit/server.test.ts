import http from 'node:http'
import net from 'node:net'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { resolveSettings } from '../../ts/config/index.ts'
import { CoreError } from '../../ts/core/error.ts'
import type { Core, ResultStream } from '../../ts/core/port.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { negotiate } from '../../ts/server/accept.ts'
import { ListenError, type Server, startServer } from '../../ts/server/index.ts'
import { freePort } from '../free-port.mjs'
import { fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

const opened: Server[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop()
})

const reported: unknown[] = []

async function serve(
  core: Core,
  flags: Record<string, string> = {},
): Promise<{ httpUrl: string; wsUrl: string; stop: () => Promise<void> }> {
  const { settings } = resolveSettings({ flags: new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0', ...flags })) })
  const context = { core, namespaces: settings['evm.namespaces'], clientVersion: 'Hearth/test', ...PLAIN_RULES }
  const limits = { requests: settings['evm.batch_request_limit'], responseBytes: settings['evm.batch_response_max_size'], concurrency: 4 }
  const report = (e: unknown): void => void reported.push(e)
  const server = await startServer(settings, makeDispatch(context, limits, report), { report })
  opened.push(server)
  return { httpUrl: server.httpUrl ?? 'off', wsUrl: server.wsUrl ?? 'off', stop: () => server.stop() }
}

interface Raw {
  status: number
  headers: http.IncomingHttpHeaders
  body: Buffer
}

/** A request as it stands: no redirects, no decompression. */
function raw(url: string, method: string, headers: http.OutgoingHttpHeaders, body?: string | Buffer): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const request = http.request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) }))
      response.on('error', reject)
      response.on('aborted', () => reject(new Error('aborted')))
    })
    request.on('error', reject)
    request.end(body)
  })
}

const JSON_TYPE = { 'content-type': 'application/json' }
const ASK = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
const TRACE = '{"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":["0x1"]}'
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x1b"}'
const core = () => fakeCore({ blockNumber: '"0x1b"' })

describe('HTTP as go-ethereum', () => {
  it('answers a POST at /', async () => {
    const { httpUrl } = await serve(core())
    for (const type of ['application/json', 'application/json; charset=utf-8', 'Application/JSON-RPC', 'application/jsonrequest']) {
      const r = await raw(httpUrl, 'POST', { 'content-type': type }, ASK)
      expect([r.status, r.body.toString(), r.headers['content-type']]).toEqual([200, ANSWER, 'application/json'])
    }
  })

  it('answers a notification with nothing', async () => {
    const { httpUrl } = await serve(core())
    const r = await raw(httpUrl, 'POST', JSON_TYPE, '{"jsonrpc":"2.0","method":"eth_blockNumber"}')
    expect([r.status, r.body.length]).toEqual([200, 0])
  })

  it('200 for GET, 405, 404 and 415 otherwise', async () => {
    const { httpUrl } = await serve(core())
    const status = async (method: string, path: string, headers: http.OutgoingHttpHeaders, body?: string) =>
      (await raw(httpUrl + path, method, headers, body)).status
    expect(await status('GET', '/', {})).toBe(200)
    expect(await status('GET', '/', { ...JSON_TYPE, 'content-length': ASK.length }, ASK)).toBe(405)
    expect(await status('GET', '/?x=1', {})).toBe(405)
    expect(await status('PUT', '/', JSON_TYPE, ASK)).toBe(405)
    expect(await status('DELETE', '/', {})).toBe(405)
    expect(await status('PATCH', '/', JSON_TYPE, ASK)).toBe(405)
    expect(await status('POST', '/x', JSON_TYPE, ASK)).toBe(404)
    expect(await status('POST', '/', { 'content-type': 'text/plain' }, ASK)).toBe(415)
    expect(await status('POST', '/', {}, ASK)).toBe(415)
  })

  it('413 for a body over the limit, which the client reads', async () => {
    const { httpUrl } = await serve(core(), { 'evm.max_request_body_bytes': '2048' })
    const padded = (size: number) => ASK + ' '.repeat(size - ASK.length)
    expect((await raw(httpUrl, 'POST', JSON_TYPE, padded(2048))).status).toBe(200)
    const declared = await raw(httpUrl, 'POST', JSON_TYPE, padded(2049))
    expect([declared.status, declared.body.toString()]).toEqual([413, 'content length too large (2049>2048)\n'])
    const chunked = await raw(httpUrl, 'POST', { ...JSON_TYPE, 'transfer-encoding': 'chunked' }, padded(2049))
    expect(chunked.status).toBe(413)
    expect((await raw(httpUrl, 'POST', JSON_TYPE, padded(8_000_000))).status).toBe(413)
  })

  it('lets the pages of allowed origins in', async () => {
    const open = await serve(core(), { 'evm.cors_origins': '*' })
    const headers = { ...JSON_TYPE, origin: 'https://example.org' }
    expect((await raw(open.httpUrl, 'POST', headers, ASK)).headers['access-control-allow-origin']).toBe('*')
    const some = await serve(core(), { 'evm.cors_origins': 'https://example.org' })
    const preflight = await raw(some.httpUrl, 'OPTIONS', { origin: 'https://example.org', 'access-control-request-method': 'POST' })
    expect([preflight.status, preflight.headers['access-control-allow-origin'], preflight.headers['access-control-allow-headers']]).toEqual(
      [204, 'https://example.org', 'content-type, authorization'],
    )
    const other = await raw(some.httpUrl, 'POST', { ...headers, origin: 'https://evil.example' }, ASK)
    expect(other.headers['access-control-allow-origin']).toBeUndefined()
  })

  it('refuses a port that is taken, with its setting', async () => {
    const { httpUrl } = await serve(core())
    const port = new URL(httpUrl).port
    await expect(serve(core(), { 'evm.http_port': port })).rejects.toThrow(ListenError)
    await expect(serve(core(), { 'evm.http_port': port })).rejects.toThrow('--evm.http_port=PORT')
  })

  // A name with an empty label is refused without a name server (RFC 1035, section 3.1), and
  // 192.0.2.0/24 is for documentation (RFC 5737): no machine has such an address.
  it.each([
    [
      'evm.http_host',
      'no..such.host',
      /^cannot listen on no\.\.such\.host:0: the host no\.\.such\.host is unknown \((ENOTFOUND|EAI_\w+)\)\. /,
    ],
    [
      'evm.ws_host',
      'no..such.host',
      /^cannot listen on no\.\.such\.host:0: the host no\.\.such\.host is unknown \((ENOTFOUND|EAI_\w+)\)\. /,
    ],
    ['evm.http_host', '192.0.2.1', /^cannot listen on 192\.0\.2\.1:0: this machine does not have the address 192\.0\.2\.1\. /],
  ])('refuses a host of %s that is none of this machine, and advises no other port', async (setting, host, why) => {
    const refused = await serve(core(), { [setting]: host }).then(
      () => undefined,
      (e: unknown) => e,
    )
    expect(refused).toBeInstanceOf(ListenError)
    expect((refused as ListenError).message).toMatch(why)
    expect((refused as ListenError).message).toContain(`with --${setting}=ADDRESS: 127.0.0.1 for this machine alone`)
    expect((refused as ListenError).message).not.toContain('PORT')
  })

  it('closes connections beyond the limit', async () => {
    const { httpUrl } = await serve(core(), { 'evm.max_open_connections': '1' })
    const first = net.connect(Number(new URL(httpUrl).port), '127.0.0.1')
    await new Promise((resolve) => first.once('connect', resolve))
    await expect(raw(httpUrl, 'POST', JSON_TYPE, ASK)).rejects.toThrow()
    first.destroy()
  })
})

describe('gzip', () => {
  it.each([
    [undefined, 'identity', 'identity'],
    ['', 'identity', 'identity'],
    ['gzip', 'identity', 'gzip'],
    ['x-gzip', 'identity', 'gzip'],
    ['GZIP;Q=0.5', 'identity', 'gzip'],
    ['gzip;q=0', 'identity', 'identity'],
    ['gzip;q=0.000, *', 'identity', 'identity'],
    ['gzip;q=nonsense', 'identity', 'identity'],
    ['*', 'identity', 'gzip'],
    ['*;q=0', 'identity', 'identity'],
    ['br, deflate', 'identity', 'identity'],
    ['br;q=1, gzip;q=0.1', 'identity', 'gzip'],
    ['identity', 'identity', 'identity'],
    ['gzip;q=0.5, identity;q=0.8', 'identity', 'identity'],
    ['gzip;q=0.8, identity;q=0.5', 'identity', 'gzip'],
    ['gzip, identity;q=0', 'gzip', 'gzip'],
    ['gzip;q=0.1, *;q=0', 'gzip', 'gzip'],
    ['identity;q=0', 'identity', 'identity'],
  ])('accept-encoding %j: small %s, large %s', (header, small, large) => {
    expect([negotiate(header, false), negotiate(header, true)]).toEqual([small, large])
  })

  const text = JSON.stringify('hearth '.repeat(5000))

  it('over the threshold when asked for', async () => {
    const { httpUrl } = await serve(fakeCore({ blockNumber: text }))
    const whole = `{"jsonrpc":"2.0","id":1,"result":${text}}`
    const packed = await raw(httpUrl, 'POST', { ...JSON_TYPE, 'accept-encoding': 'gzip' }, ASK)
    expect(packed.headers['content-encoding']).toBe('gzip')
    expect(packed.headers.vary).toContain('accept-encoding')
    expect(Number(packed.headers['content-length'])).toBe(packed.body.length)
    expect(zlib.gunzipSync(packed.body).toString()).toBe(whole)
    const plain = await raw(httpUrl, 'POST', { ...JSON_TYPE, 'accept-encoding': 'gzip;q=0' }, ASK)
    expect([plain.headers['content-encoding'], plain.body.toString()]).toEqual([undefined, whole])
    const small = await serve(core())
    expect((await raw(small.httpUrl, 'POST', { ...JSON_TYPE, 'accept-encoding': 'gzip' }, ASK)).headers['content-encoding']).toBeUndefined()
  })

  it('of streams', async () => {
    const chunks = Array.from({ length: 50 }, (_, i) => `${i === 0 ? '[' : ','}"${String(i).repeat(3000)}"`)
    const { httpUrl } = await serve(fakeCore({}, () => fakeStream([...chunks, ']'])))
    const whole = `{"jsonrpc":"2.0","id":1,"result":${chunks.join('')}]}`
    const packed = await raw(httpUrl, 'POST', { ...JSON_TYPE, 'accept-encoding': 'gzip' }, TRACE)
    expect([packed.headers['content-encoding'], packed.headers['transfer-encoding']]).toEqual(['gzip', 'chunked'])
    expect(zlib.gunzipSync(packed.body).toString()).toBe(whole)
    const plain = await raw(httpUrl, 'POST', JSON_TYPE, TRACE)
    expect([plain.headers['content-encoding'], plain.body.toString()]).toEqual([undefined, whole])
  })
})

describe('streams', () => {
  it.each(['identity', 'gzip'])('that fail in the middle cut the connection (%s)', async (encoding) => {
    const stream = fakeStream(['[1', ',2', ',3', new CoreError('closed', 'the node is closed')])
    const { httpUrl } = await serve(fakeCore({}, () => stream))
    await expect(raw(httpUrl, 'POST', { ...JSON_TYPE, 'accept-encoding': encoding }, TRACE)).rejects.toThrow()
    expect(stream.cancelled).toBe(true)
  })

  it.each(['identity', 'gzip'])('stop when the client goes and wait while it does not read (%s)', async (encoding) => {
    let made = 0
    let cancelled = false
    // Bytes that do not compress, so that both encodings fill the socket's buffers.
    const chunk = Buffer.from(Array.from({ length: 65_536 }, () => Math.floor(Math.random() * 256)))
    const endless: ResultStream = {
      async next() {
        made++
        await promisify(setImmediate)()
        return chunk
      },
      cancel() {
        cancelled = true
      },
    }
    const { httpUrl } = await serve(fakeCore({}, () => endless))
    const socket = net.connect(Number(new URL(httpUrl).port), '127.0.0.1')
    socket.write(
      `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept-encoding: ${encoding}\r\ncontent-length: ${TRACE.length}\r\n\r\n${TRACE}`,
    )
    socket.pause()
    let before = -1
    while (made !== before) {
      before = made
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    // Socket buffers of both ends, at most a few MiB each.
    expect(made).toBeLessThan(400)
    expect(cancelled).toBe(false)
    socket.destroy()
    await expect.poll(() => cancelled).toBe(true)
  })
})

describe('a client that goes before its stream begins', () => {
  /** A stream that stays silent until it is cancelled. */
  function silent(): ResultStream & { begun: boolean; cancelled: boolean } {
    let end: (chunk: null) => void = () => undefined
    return {
      begun: false,
      cancelled: false,
      next() {
        this.begun = true
        return new Promise((resolve) => (end = resolve))
      },
      cancel() {
        this.cancelled = true
        end(null)
      },
    }
  }

  it('cancels it, over HTTP', async () => {
    const stream = silent()
    const { httpUrl } = await serve(fakeCore({}, () => stream))
    const request = http.request(httpUrl, { method: 'POST', headers: JSON_TYPE }).on('error', () => undefined)
    request.end(TRACE)
    await expect.poll(() => stream.begun).toBe(true)
    expect(stream.cancelled).toBe(false)
    request.destroy()
    await expect.poll(() => stream.cancelled).toBe(true)
  })

  it('cancels it on a WebSocket at its message limit', async () => {
    for (const how of ['close', 'terminate'] as const) {
      const stream = silent()
      const { wsUrl } = await serve(
        fakeCore({}, () => stream),
        { 'evm.ws_max_in_flight': '1' },
      )
      const socket = new WebSocket(wsUrl)
      await new Promise((resolve) => socket.once('open', resolve))
      socket.send(TRACE)
      // One more waits for its turn.
      socket.send(ASK)
      await expect.poll(() => stream.begun).toBe(true)
      expect(stream.cancelled).toBe(false)
      socket[how]()
      await expect.poll(() => stream.cancelled).toBe(true)
    }
  })

  it('cancels it, over WebSocket, also in a batch', async () => {
    for (const message of [TRACE, `[${TRACE}]`]) {
      const stream = silent()
      const { wsUrl } = await serve(fakeCore({}, () => stream))
      const socket = new WebSocket(wsUrl)
      await new Promise((resolve) => socket.once('open', resolve))
      socket.send(message)
      await expect.poll(() => stream.begun).toBe(true)
      expect(stream.cancelled).toBe(false)
      socket.terminate()
      await expect.poll(() => stream.cancelled).toBe(true)
    }
  })
})

describe('WebSocket', () => {
  const open = (url: string, options = {}): Promise<WebSocket> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(url, options)
      socket.once('open', () => resolve(socket)).once('error', reject)
    })
  const ask = (socket: WebSocket, body: string): Promise<string> =>
    new Promise((resolve) => {
      socket.once('message', (data) => resolve(data.toString()))
      socket.send(body)
    })

  it('on both ports, the same methods', async () => {
    const { httpUrl, wsUrl } = await serve(fakeCore({ blockNumber: '"0x1b"' }, () => fakeStream(['[1', ',2', ']'])))
    for (const url of [httpUrl.replace('http', 'ws'), wsUrl]) {
      const socket = await open(url)
      expect(await ask(socket, ASK)).toBe(ANSWER)
      expect(await ask(socket, `[${ASK}]`)).toBe(`[${ANSWER}]`)
      expect(await ask(socket, TRACE)).toBe('{"jsonrpc":"2.0","id":1,"result":[1,2]}')
      expect(await ask(socket, '{')).toContain('-32700')
      socket.close()
    }
    expect((await raw(wsUrl.replace('ws', 'http'), 'POST', JSON_TYPE, ASK)).status).toBe(426)
  })

  it('shares the port of HTTP where both settings name it', async () => {
    const port = await freePort()
    const { httpUrl, wsUrl } = await serve(core(), { 'evm.http_port': String(port), 'evm.ws_port': String(port) })
    expect([httpUrl, wsUrl]).toEqual([`http://127.0.0.1:${port}`, `ws://127.0.0.1:${port}`])
    const socket = await open(wsUrl)
    expect(await ask(socket, ASK)).toBe(ANSWER)
    socket.close()
  })

  it('refuses other paths and other origins', async () => {
    const { wsUrl } = await serve(core(), { 'evm.ws_origins': 'https://example.org', 'evm.cors_origins': '' })
    await expect(open(`${wsUrl}/x`)).rejects.toThrow('404')
    await expect(open(wsUrl, { origin: 'https://evil.example' })).rejects.toThrow('403')
    const socket = await open(wsUrl, { origin: 'https://example.org' })
    expect(await ask(socket, ASK)).toBe(ANSWER)
    socket.close()
  })

  it('closes on a message over the limit', async () => {
    const { wsUrl } = await serve(core(), { 'evm.ws_max_payload_bytes': '1024' })
    const socket = await open(wsUrl)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.send('x'.repeat(1025))
    expect(await closed).toBe(1009)
  })

  it('serves a bounded number of messages at a time', async () => {
    let running = 0
    let most = 0
    const slow = fakeCore({
      blockNumber: async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 5))
        running--
        return '1'
      },
    })
    const { wsUrl } = await serve(slow, { 'evm.ws_max_in_flight': '3' })
    const socket = await open(wsUrl)
    let answers = 0
    const all = new Promise<void>((resolve) => {
      socket.on('message', () => {
        if (++answers === 100) resolve()
      })
    })
    for (let i = 0; i < 100; i++) socket.send(ASK)
    await all
    expect(most).toBe(3)
    socket.close()
  })

  it('stops reading a connection with too many messages', async () => {
    let answer: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (answer = resolve))
    const slow = fakeCore({
      blockNumber: async () => {
        await gate
        return '1'
      },
    })
    const { wsUrl } = await serve(slow, { 'evm.ws_max_in_flight': '1' })
    const socket = await open(wsUrl)
    let answers = 0
    const all = new Promise<void>((resolve) => {
      socket.on('message', () => {
        if (++answers === 64) resolve()
      })
    })
    const mib = 1024 * 1024
    for (let i = 0; i < 64; i++) socket.send(ASK + ' '.repeat(mib - ASK.length))
    await new Promise((resolve) => setTimeout(resolve, 1000))
    // Two messages are with the node, a few mebibytes in the system's buffers.
    expect(socket.bufferedAmount).toBeGreaterThan(32 * mib)
    answer()
    await all
    socket.close()
  })

  it('a stream that fails in the middle ends the connection', async () => {
    const { wsUrl } = await serve(fakeCore({}, () => fakeStream(['[1', ',2', ',3', new CoreError('closed', 'the node is closed')])))
    const socket = await open(wsUrl)
    socket.on('error', () => undefined)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    let got = 0
    socket.on('message', () => got++)
    socket.send(TRACE)
    expect(await closed).toBe(1006)
    expect(got).toBe(0)
  })

  it('says goodbye when the node stops', async () => {
    const server = await serve(core())
    const socket = await open(server.wsUrl)
    const closed = new Promise((resolve) => socket.once('close', resolve))
    await server.stop()
    opened.splice(0)
    expect(await closed).toBe(1001)
  })
})
