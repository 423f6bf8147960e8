// Answers to traces name their source, and are sent in gzip if the trace cache has them so.
import zlib from 'node:zlib'
import { afterEach, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { resolveSettings } from '../../ts/config/index.ts'
import type { Body } from '../../ts/core/body.ts'
import { allocateWhole, openChunks } from '../../ts/core/chunks.ts'
import { CoreError } from '../../ts/core/error.ts'
import type { OpenOptions, ResultStream, TraceOrigin } from '../../ts/core/port.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { type Server, startServer } from '../../ts/server/index.ts'
import { fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

const opened: Server[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop()
})

/**
 * A stream of the core with a known origin; its gzip bytes are `text` in pieces of so many bytes.
 */
function traceStream(text: string, origin: TraceOrigin | undefined, pieceBytes = 1e9): ResultStream {
  return originStream(fakeStream([text]), origin, ({ head, tail, gzipOver }) => {
    if (gzipOver === undefined || text.length + head.length + tail.length <= gzipOver) return undefined
    const member = zlib.gzipSync(head + text + tail, { level: 9 })
    const pieces: Buffer[] = []
    for (let at = 0; at < member.length; at += pieceBytes) pieces.push(member.subarray(at, at + pieceBytes))
    const stream = { next: async () => pieces.shift() ?? null, cancel: () => undefined }
    return { kind: 'gzip', length: member.length, member: { kind: 'stream', stream } }
  })
}

/** A stream that says where its result comes from, and may have it in one piece. */
const originStream = (
  inner: ResultStream,
  origin: TraceOrigin | undefined,
  ready: (options: OpenOptions) => Body | undefined = () => undefined,
): ResultStream => ({
  next: () => inner.next(),
  cancel: () => inner.cancel(),
  open(options) {
    if (options.facts !== undefined) options.facts.origin = origin
    return ready(options) ?? openChunks(inner, options)
  },
})

async function serve(stream: () => ResultStream): Promise<Server> {
  const { settings } = resolveSettings({ flags: new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0' })) })
  const context = { core: fakeCore({}, stream), namespaces: settings['evm.namespaces'], clientVersion: 'Hearth/test', ...PLAIN_RULES }
  const fail = (e: unknown): never => {
    throw e
  }
  const dispatch = makeDispatch(context, { requests: 10, responseBytes: 1e6, concurrency: 4 }, fail)
  const server = await startServer(settings, dispatch, { report: fail })
  opened.push(server)
  return server
}

const request = (id: number): object => ({
  jsonrpc: '2.0',
  id,
  method: 'debug_traceBlockByNumber',
  params: ['0x1', { tracer: 'callTracer' }],
})

/** A request's answer as it went over the wire. */
async function ask(server: Server, body: unknown, encoding = 'identity') {
  const headers = { 'content-type': 'application/json', 'accept-encoding': encoding }
  const response = await fetch(server.httpUrl as string, { method: 'POST', headers, body: JSON.stringify(body) })
  const header = (name: string): string | null => response.headers.get(name)
  return {
    from: header('x-hearth-trace'),
    encoding: header('content-encoding'),
    length: header('content-length'),
    body: await response.text(),
  }
}

const answerOf = (text: string, id = 7): string => `{"jsonrpc":"2.0","id":${id},"result":${text}}`
const LARGE = JSON.stringify('block '.repeat(20_000))

it.each(['baked', 'capsule', 'history'] as const)('a single answer over HTTP says that it came from %s', async (origin) => {
  const server = await serve(() => traceStream('[1]', origin))
  expect(await ask(server, request(7))).toMatchObject({ from: origin, encoding: null, body: answerOf('[1]') })
})

it('answers of other methods, and those of batches, say nothing', async () => {
  const other = await serve(() => traceStream('[1]', undefined))
  expect((await ask(other, request(7))).from).toBe(null)
  const batched = await serve(() => traceStream(LARGE, 'baked'))
  const batch = await ask(batched, [request(1), request(2)], 'gzip')
  expect([batch.from, batch.body]).toEqual([null, `[${answerOf(LARGE, 1)},${answerOf(LARGE, 2)}]`])
})

it('an error of the trace cache is an error with its origin', async () => {
  const error = new CoreError('trace', 'tracing failed: out of luck')
  const server = await serve(() => originStream(fakeStream([error]), 'baked'))
  const { from, body } = await ask(server, request(7))
  expect([from, JSON.parse(body).error]).toEqual(['baked', { code: -32_000, message: 'tracing failed: out of luck' }])
})

it.each([1e9, 700])('what lies in gzip goes out as it is, in pieces of %d bytes', async (pieceBytes) => {
  const server = await serve(() => traceStream(LARGE, 'baked', pieceBytes))
  const packed = zlib.gzipSync(answerOf(LARGE), { level: 9 }).length
  expect(await ask(server, request(7), 'gzip')).toEqual({ from: 'baked', encoding: 'gzip', length: String(packed), body: answerOf(LARGE) })
  expect(await ask(server, request(7))).toMatchObject({ from: 'baked', encoding: null, body: answerOf(LARGE) })
})

it('a baked answer up to 32 KiB without gzip goes out plain', async () => {
  const text = (bytes: number): string => JSON.stringify('a'.repeat(bytes - 2))
  // Over the threshold of gzip, which is 16 KiB.
  for (const [bytes, origin, encoding] of [
    [30_000, 'baked', null],
    [40_000, 'baked', 'gzip'],
    [30_000, 'history', 'gzip'],
  ] as const) {
    const stream = (): ResultStream => originStream(fakeStream([text(bytes)]), origin)
    const answer = await ask(await serve(stream), request(7), 'gzip')
    expect([answer.encoding, answer.body]).toEqual([encoding, answerOf(text(bytes))])
  }
})

it('a small answer that has come whole is sent as one piece', async () => {
  const stream = originStream(fakeStream([new Error('nobody reads pieces')]), 'baked', ({ head, tail }) => ({
    kind: 'bytes',
    bytes: Buffer.from(`${head}[1]${tail}`),
  }))
  const server = await serve(() => stream)
  expect(await ask(server, request(7))).toEqual({
    from: 'baked',
    encoding: null,
    length: String(answerOf('[1]').length),
    body: answerOf('[1]'),
  })
})

it.each([1, 8 * 1024, 100_000, 900_000])('a ready answer of %d bytes is sent without waiting', async (bytes) => {
  const text = JSON.stringify('ä'.repeat(Math.max(0, bytes - 2) / 2))
  const asked: (number | undefined)[] = []
  const stream = originStream(fakeStream([new Error('nobody reads pieces')]), 'baked', ({ head, tail, gzipOver }) => {
    asked.push(gzipOver)
    const into = allocateWhole(Buffer.byteLength(head + text + tail))
    return { kind: 'bytes', bytes: into.subarray(0, into.write(head + text + tail)) }
  })
  const server = await serve(() => stream)
  // Twice, as the memory of the first answer is used again.
  for (const id of [7, 8]) {
    const answer = await ask(server, request(id))
    expect({ ...answer, body: answer.body === answerOf(text, id) }).toEqual({
      from: 'baked',
      encoding: null,
      length: String(Buffer.byteLength(answerOf(text, id))),
      body: true,
    })
  }
  const packed = await ask(server, request(7), 'gzip')
  expect([packed.encoding, packed.body === answerOf(text)]).toEqual([bytes > 32 * 1024 ? 'gzip' : null, true])
  // A 64th of `evm.gzip_threshold_bytes`.
  expect(asked).toEqual([undefined, undefined, 256])
})

it('over WebSocket nothing is in gzip', async () => {
  const server = await serve(() => traceStream(LARGE, 'baked'))
  const socket = new WebSocket(server.wsUrl as string)
  await new Promise((resolve) => socket.once('open', resolve))
  const answer = new Promise((resolve) => socket.once('message', (data) => resolve(data.toString())))
  socket.send(JSON.stringify(request(7)))
  expect(await answer).toBe(answerOf(LARGE))
  socket.close()
})
