// Pools of chunk buffers, which are reused after the chunks were sent: a new buffer for every chunk
// would keep the garbage collector busy.

import { type Body, type ByteStream, type BytesBody, bytesOf, type StreamBody } from './body.ts'
import type { OpenOptions, ResultStream } from './port.ts'

/** Maximum size of a chunk, in bytes. */
export const CHUNK_BYTES_MAX = 256 * 1024

/** Maximum size of a response that is built and sent as one piece, in bytes. */
export const WHOLE_BYTES_MAX = 1024 * 1024

/** A pool of free buffers of one size. */
interface BufferPool {
  readonly bytes: number
  /** Maximum number of buffers in the pool. */
  readonly most: number
  readonly buffers: Buffer[]
}

/** 4 MiB: a few streams at once need no more. */
const CHUNKS: BufferPool = { bytes: CHUNK_BYTES_MAX, most: 16, buffers: [] }

/**
 * 16 MiB for answers of one piece that are larger than a chunk: where more clients than buffers
 * take such answers at once, V8 collects all garbage after every 32 MiB of new ones.
 */
const WHOLES: BufferPool = { bytes: WHOLE_BYTES_MAX, most: 16, buffers: [] }

const pooled = new WeakSet<ArrayBufferLike>()

function take(pool: BufferPool): Buffer {
  const buffer = pool.buffers.pop() ?? Buffer.allocUnsafeSlow(pool.bytes)
  pooled.add(buffer.buffer)
  return buffer
}

/** Allocates an uninitialised buffer for a chunk of at most `CHUNK_BYTES_MAX` bytes. */
export function allocate(bytes: number): Buffer {
  // Small ones share a slab of Node's.
  if (bytes < CHUNK_BYTES_MAX / 4) return Buffer.allocUnsafe(bytes)
  return take(CHUNKS).subarray(0, Math.min(bytes, CHUNK_BYTES_MAX))
}

/**
 * Allocates an uninitialised buffer of at least so many bytes for a response of one piece: at most
 * `WHOLE_BYTES_MAX`.
 */
export const allocateWhole = (bytes: number): Buffer => take(bytes <= CHUNK_BYTES_MAX ? CHUNKS : WHOLES)

/**
 * Returns the buffer of a chunk to its pool. Bytes that this module did not allocate are ignored.
 */
export function release(chunk: Uint8Array): void {
  if (!pooled.delete(chunk.buffer)) return
  const pool = chunk.buffer.byteLength === CHUNK_BYTES_MAX ? CHUNKS : WHOLES
  if (pool.buffers.length < pool.most) pool.buffers.push(Buffer.from(chunk.buffer))
}

/** Bytes as text; nothing is copied before. */
export const textOf = (bytes: Uint8Array, encoding: BufferEncoding = 'utf8'): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)

/** The JSON value of bytes, as the type that the caller knows it to have. */
export const jsonOf = <T>(bytes: Uint8Array): T => JSON.parse(textOf(bytes)) as T

/** All of a stream. */
async function collect(stream: ByteStream): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) chunks.push(chunk)
  return chunks.length === 1 ? (chunks[0] as Uint8Array) : Buffer.concat(chunks)
}

/** All of a stream as text. */
export const streamText = async (stream: ByteStream): Promise<string> => textOf(await collect(stream))

/** All of a body as text. */
export async function bodyText(body: Body): Promise<string> {
  if (body.kind === 'gzip') throw new TypeError('a body in gzip was not requested')
  return body.kind === 'stream' ? await streamText(body.stream) : textOf(bytesOf(body))
}

/** A result of one piece between its head and tail. */
export function spliced({ head, tail }: Pick<OpenOptions, 'head' | 'tail'>, result: Uint8Array): Uint8Array {
  if (head === '' && tail === '') return result
  // An id may hold any character: three bytes a UTF-16 unit are always enough.
  const bytes = Buffer.allocUnsafe((head.length + tail.length) * 3 + result.length)
  let at = bytes.write(head, 0, 'utf8')
  bytes.set(result, at)
  at += result.length
  at += bytes.write(tail, at, 'utf8')
  return bytes.subarray(0, at)
}

/** A stream whose first chunks were read already. */
class Begun implements ByteStream {
  private readonly first: Uint8Array[]
  private readonly rest: ByteStream

  constructor(first: Uint8Array[], rest: ByteStream) {
    this.first = first
    this.rest = rest
  }

  async next(): Promise<Uint8Array | null> {
    return this.first.shift() ?? (await this.rest.next())
  }

  cancel(): void {
    this.rest.cancel()
  }
}

/**
 * The start of a stream as a body: of a single chunk one piece with head and tail, else a stream.
 */
export async function openChunks(stream: ByteStream, options: OpenOptions): Promise<BytesBody | StreamBody> {
  const first = await stream.next()
  const second = first === null ? null : await stream.next()
  if (first !== null && second !== null) return { kind: 'stream', stream: new Begun([first, second], stream) }
  const bytes = spliced(options, first ?? NULL)
  if (first !== null && bytes !== first) release(first)
  return { kind: 'bytes', bytes }
}

/** The result of a stream without bytes. */
const NULL = Buffer.from('null')

/** The body of a result: see `ResultStream.open`. */
export const openResult = (stream: ResultStream, options: OpenOptions): Promise<Body> | Body =>
  stream.open?.(options) ?? openChunks(stream, options)
