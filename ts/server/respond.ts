// Writes an answer to an HTTP response: whole or streamed, plain or gzip, never faster than the client reads.
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import zlib from 'node:zlib'
import { giveBack, textOf } from '../core/chunks.ts'
import type { ResultStream } from '../core/port.ts'
import type { Packed } from '../rpc/dispatch.ts'
import { negotiate } from './accept.ts'
import { parts } from './parts.ts'

/** How answers are compressed. */
export interface Compression {
  /** Answers over this size are compressed, in bytes. */
  readonly thresholdBytes: number
  /** 1 (fastest) to 9. */
  readonly level: number
}

const gzip = promisify(zlib.gzip)

/** Says that the answer depends on the encodings that are asked for; it may depend on a web page's origin too. */
function varies(response: ServerResponse): void {
  if (response.hasHeader('vary')) response.appendHeader('vary', 'accept-encoding')
  else response.setHeader('vary', 'accept-encoding')
}

/** Bytes up to which an answer is sent as one string: Node joins that to the headers, which costs less than writing two buffers. */
export const JOINED_BYTES_MAX = 8 * 1024

/** A small answer's bytes as text, in which any byte is a character of Latin-1; their memory goes back. */
export function joined(bytes: Uint8Array): string {
  const text = textOf(bytes, 'latin1')
  giveBack(bytes)
  return text
}

/**
 * Cuts off a client that takes nothing of what waits for it for `ms` milliseconds. The socket's clock starts anew whenever the system has
 * taken some of it, and runs out in vain while nothing waits.
 */
export function cutOffAfter(response: ServerResponse, ms: number): void {
  response.setTimeout(ms, () => {
    if (response.writableLength > 0) response.destroy()
  })
}

/** Ends a response with a few words or nothing: a client that asks a thousand times without reading is cut off too. */
export function endShort(response: ServerResponse, writeMs: number, body?: string): void {
  response.end(body)
  if (response.writableLength > 0) cutOffAfter(response, writeMs)
}

/** Ends a response with its last bytes, whose memory goes back once they have left, or its client is cut off. */
function endWith(response: ServerResponse, bytes: Uint8Array, writeMs: number): void {
  if (bytes.length <= JOINED_BYTES_MAX) {
    response.end(joined(bytes), 'latin1')
  } else if (response.socket === null) response.end(bytes, () => giveBack(bytes))
  else {
    response.end(bytes)
    if (response.writableLength === 0) giveBack(bytes)
    else response.once('finish', () => giveBack(bytes))
  }
  // Most answers are with the system by now, and need no clock.
  if (response.writableLength > 0) cutOffAfter(response, writeMs)
}

/** Sends an answer that is whole. Compression runs on zlib's threads, not on this one; only then there is something to wait for. */
export function sendBytes(
  response: ServerResponse,
  bytes: Uint8Array,
  accept: string | undefined,
  compression: Compression,
  writeMs: number,
): Promise<void> | undefined {
  varies(response)
  if (negotiate(accept, bytes.length > compression.thresholdBytes) === 'gzip') return sendGzip(response, bytes, compression.level, writeMs)
  response.setHeader('content-length', bytes.length)
  endWith(response, bytes, writeMs)
  return undefined
}

async function sendGzip(response: ServerResponse, bytes: Uint8Array, level: number, writeMs: number): Promise<void> {
  const packed = await gzip(bytes, { level })
  giveBack(bytes)
  response.setHeader('content-encoding', 'gzip').setHeader('content-length', packed.length)
  endWith(response, packed, writeMs)
}

/** Writes a part and waits until there is room for the next; false once the client is gone, or takes nothing for too long. */
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
 * Sends an answer in chunks as the core makes them. A client that leaves, or takes nothing for `stallMs` milliseconds, cancels the work;
 * work that fails in the middle destroys the connection, so that the client cannot take a part for the whole.
 */
export async function sendStream(
  response: ServerResponse,
  stream: ResultStream,
  accept: string | undefined,
  compression: Compression,
  stallMs: number,
): Promise<void> {
  const gone = leaving(response)
  varies(response)
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
export async function sendPacked(
  response: ServerResponse,
  { bytes, body }: Packed,
  { writeMs, stallMs }: { readonly writeMs: number; readonly stallMs: number },
): Promise<void> {
  varies(response)
  response.setHeader('content-encoding', 'gzip').setHeader('content-length', bytes)
  if (typeof body === 'string') {
    response.end(body, 'latin1')
    if (response.writableLength > 0) cutOffAfter(response, writeMs)
  } else if (!(body instanceof Uint8Array)) return pump(response, body, response, leaving(response), stallMs)
  else endWith(response, body, writeMs)
}

/** Aborts when the client goes. */
function leaving(response: ServerResponse): AbortController {
  const gone = new AbortController()
  // A response that is closed already says so no more.
  if (response.closed) gone.abort()
  else response.once('close', () => gone.abort())
  return gone
}

/** Hands a stream's chunks to a sink that ends in the response. */
async function pump(
  response: ServerResponse,
  stream: ResultStream,
  sink: NodeJS.WritableStream,
  gone: AbortController,
  stallMs: number,
): Promise<void> {
  try {
    for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) {
      const taken = chunk
      for (const [part, last] of parts(chunk)) {
        if (await write(sink, part, gone, stallMs, last ? () => giveBack(taken) : undefined)) continue
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
