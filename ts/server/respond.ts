// Writes an answer to an HTTP response: whole or streamed, plain or gzip, never faster than the
// client reads.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import zlib from 'node:zlib'
import { type ByteStream, bytesOf, type GzipBody, isEmpty, lengthOf, type WholeBody } from '../core/body.ts'
import { release, textOf } from '../core/chunks.ts'
import { limitUnsent } from '../core/socket.ts'
import type { Reply, ReplyHeaders } from '../rpc/reply.ts'
import { negotiate } from './accept.ts'
import { gzip } from './gzip.ts'
import { BAKED_PLAIN_BYTES_MAX, STORED_GZIP_PART, UNSENT_BYTES_MAX } from './limits.ts'
import { headersOf, statusOf } from './reply-headers.ts'
import { parts } from './split.ts'

/** How answers are compressed. */
export interface Compression {
  /** Answers over this size are compressed, in bytes. */
  readonly thresholdBytes: number
  /** 1 (fastest) to 9. */
  readonly level: number
}

/**
 * Marks the answer as dependent on the accepted encodings; it may depend on a web page's origin
 * too.
 */
function varies(response: ServerResponse): void {
  if (response.hasHeader('vary')) response.appendHeader('vary', 'accept-encoding')
  else response.setHeader('vary', 'accept-encoding')
}

/**
 * Bytes up to which an answer is sent as one string: Node joins that to the headers, which costs
 * less than writing two buffers.
 */
const JOINED_BYTES_MAX = 8 * 1024

/** A body as text where it is short; the memory of its bytes is given back then. */
export function shortText(body: WholeBody): string | undefined {
  if (body.kind === 'latin1') return body.text
  if (body.kind === 'shared' || body.bytes.length > JOINED_BYTES_MAX) return undefined
  const text = textOf(body.bytes, 'latin1')
  release(body.bytes)
  return text
}

/**
 * Cuts off a client that takes none of its waiting bytes for `ms` milliseconds. The socket's clock
 * restarts whenever the system has taken some of them, and has no effect while none wait.
 */
export function cutOffAfter(response: ServerResponse, ms: number): void {
  // Before node:http sets the clock of an idle connection: the next response may be under way. A
  // response that waits for those before it has no socket yet.
  response.prependOnceListener('finish', () => response.socket?.setTimeout(0))
  response.setTimeout(ms, () => {
    if (response.writableLength > 0) response.destroy()
  })
}

/**
 * Ends a response with a few words or nothing: a client that sends a thousand requests without
 * reading is cut off too.
 */
export function endShort(response: ServerResponse, writeMs: number, body?: string): void {
  response.end(body)
  if (response.writableLength > 0) cutOffAfter(response, writeMs)
}

/**
 * Ends a response with its last bytes, whose memory is given back once they have left, or its
 * client is cut off.
 */
function endWith(response: ServerResponse, body: WholeBody, writeMs: number): void {
  const text = shortText(body)
  if (text !== undefined) {
    response.end(text, 'latin1')
  } else {
    const bytes = bytesOf(body)
    if (response.socket === null) response.end(bytes, () => release(bytes))
    else {
      response.end(bytes)
      if (response.writableLength === 0) release(bytes)
      else response.once('finish', () => release(bytes))
    }
  }
  // Most answers are with the system by now, and need no clock.
  if (response.writableLength > 0) cutOffAfter(response, writeMs)
}

/** How a client wants its answer, and for how long it may take nothing of it. */
export interface SendOptions {
  /** The header `accept-encoding`. */
  readonly accept: string | undefined
  readonly compression: Compression
  /** A client that takes nothing of a whole answer for this long is cut off, in milliseconds. */
  readonly writeMs: number
  /** A client that takes nothing of a streamed answer for this long is cut off, in milliseconds. */
  readonly stallMs: number
}

/**
 * Size in bytes above which a response of one piece is compressed. Large baked traces are stored
 * compressed.
 */
export const gzipThreshold = ({ origin }: ReplyHeaders, { thresholdBytes }: Compression): number =>
  origin === 'baked' ? Math.max(thresholdBytes, BAKED_PLAIN_BYTES_MAX) : thresholdBytes

/**
 * Size in bytes above which a baked answer that is stored in gzip is sent so; `undefined` for a
 * client that does not take gzip.
 */
export const storedGzipOver = (accepted: string | undefined, { thresholdBytes }: Compression): number | undefined =>
  negotiate(accepted, true) === 'gzip' ? Math.floor(thresholdBytes * STORED_GZIP_PART) : undefined

/** Sends a reply; gives a promise where that takes more than this call. */
export function sendReply(response: ServerResponse, { body, headers }: Reply, options: SendOptions): Promise<void> | undefined {
  response.statusCode = statusOf(headers)
  for (const [name, value] of headersOf(headers)) response.setHeader(name, value)
  const { accept, compression, writeMs, stallMs } = options
  if (isEmpty(body)) {
    endShort(response, writeMs)
    return undefined
  }
  varies(response)
  if (body.kind === 'stream') return sendStream(response, body.stream, accept, compression, stallMs)
  if (body.kind === 'gzip') return sendMember(response, body, options)
  const bytes = lengthOf(body)
  if (negotiate(accept, bytes > gzipThreshold(headers, compression)) === 'gzip') return sendGzip(response, body, compression.level, writeMs)
  response.setHeader('content-length', bytes)
  endWith(response, body, writeMs)
  return undefined
}

/** Compresses an answer, on zlib's threads and not on this one, and sends it. */
async function sendGzip(response: ServerResponse, body: WholeBody, level: number, writeMs: number): Promise<void> {
  const bytes = bytesOf(body)
  const packed = await gzip(bytes, { level })
  release(bytes)
  response.setHeader('content-encoding', 'gzip').setHeader('content-length', packed.length)
  endWith(response, { kind: 'bytes', bytes: packed }, writeMs)
}

/**
 * Writes a part and waits until there is room for the next; false once the client is gone, or takes
 * nothing for too long.
 */
async function write(
  sink: NodeJS.WritableStream,
  part: Uint8Array,
  gone: AbortController,
  stallMs: number,
  written?: () => void,
): Promise<boolean> {
  if (gone.signal.aborted) return false
  if (sink.write(part, written)) return true
  const timer = setTimeout(() => gone.abort(), stallMs)
  try {
    await once(sink, 'drain', { signal: gone.signal })
    return true
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Sends an answer in chunks as the core makes them. A client that leaves, or takes nothing for
 * `stallMs` milliseconds, cancels the work; work that fails in the middle destroys the connection,
 * so that the client cannot take a part for the whole.
 */
async function sendStream(
  response: ServerResponse,
  stream: ByteStream,
  accept: string | undefined,
  compression: Compression,
  stallMs: number,
): Promise<void> {
  const gone = leaving(response)
  // A stream has more than one chunk of the core's, which is over any sensible threshold.
  const packer = negotiate(accept, true) === 'gzip' ? zlib.createGzip({ level: compression.level }) : undefined
  if (packer !== undefined) {
    response.setHeader('content-encoding', 'gzip')
    packer.pipe(response)
    gone.signal.addEventListener('abort', () => packer.destroy())
    packer.on('error', () => gone.abort())
  }
  await pump(response, stream, packer ?? response, gone, stallMs)
}

/** Sends an answer that is in gzip already. */
function sendMember(response: ServerResponse, { length, member }: GzipBody, { writeMs, stallMs }: SendOptions): Promise<void> | undefined {
  response.setHeader('content-encoding', 'gzip').setHeader('content-length', length)
  if (member.kind === 'stream') return pump(response, member.stream, response, leaving(response), stallMs)
  endWith(response, member, writeMs)
  return undefined
}

/** Aborts when the client goes. */
function leaving(response: ServerResponse): AbortController {
  const gone = new AbortController()
  // A response that is closed already says so no more.
  if (response.destroyed) gone.abort()
  else response.once('close', () => gone.abort())
  return gone
}

/** Hands a stream's chunks to a sink that ends in the response. */
async function pump(
  response: ServerResponse,
  stream: ByteStream,
  sink: NodeJS.WritableStream,
  gone: AbortController,
  stallMs: number,
): Promise<void> {
  limitUnsent(response.socket, UNSENT_BYTES_MAX)
  try {
    for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) {
      const taken = chunk
      for (const [part, last] of parts(chunk)) {
        if (await write(sink, part, gone, stallMs, last ? () => release(taken) : undefined)) continue
        response.destroy()
        return
      }
    }
    sink.end()
    // The last parts may still wait, in the packer too.
    if (!response.writableFinished) cutOffAfter(response, stallMs)
  } catch (e) {
    response.destroy()
    throw e
  } finally {
    stream.cancel()
  }
}
