// Memory of chunks, which is reused after they were sent: a new buffer for every chunk would keep
// the garbage collector busy.

import { type Body, type ByteStream, type BytesBody, bytesOf, type StreamBody } from './body.ts'
import type { OpenOptions, ResultStream } from './port.ts'

/** Most bytes that a chunk holds. */
export const CHUNK_BYTES_MAX = 256 * 1024

/** Most bytes of an answer that is made and sent as one piece. */
export const WHOLE_BYTES_MAX = 1024 * 1024

/** Buffers of a size that wait to be used again. */
interface Spares {
  readonly bytes: number
  /** Most that are kept. */
  readonly most: number
  readonly buffers: Buffer[]
}

/** 4 MiB: a few streams at once need no more. */
const CHUNKS: Spares = { bytes: CHUNK_BYTES_MAX, most: 16, buffers: [] }

/** 4 MiB for answers of one piece that are larger than a chunk. */
const WHOLES: Spares = { bytes: WHOLE_BYTES_MAX, most: 4, buffers: [] }

const lent = new WeakSet<ArrayBufferLike>()

function take(spares: Spares): Buffer {
  const buffer = spares.buffers.pop() ?? Buffer.allocUnsafeSlow(spares.bytes)
  lent.add(buffer.buffer)
  return buffer
}

/** Memory for a chunk of so many bytes, not cleared: at most `CHUNK_BYTES_MAX`. */
export function lend(bytes: number): Buffer {
  // Small ones share a slab of Node's.
  if (bytes < CHUNK_BYTES_MAX / 4) return Buffer.allocUnsafe(bytes)
  return take(CHUNKS).subarray(0, Math.min(bytes, CHUNK_BYTES_MAX))
}

/**
 * Memory for an answer of one piece of at least so many bytes, not cleared: at most
 * `WHOLE_BYTES_MAX`.
 */
export const lendWhole = (bytes: number): Buffer => take(bytes <= CHUNK_BYTES_MAX ? CHUNKS : WHOLES)

/**
 * Returns the memory of a chunk that is no longer read. Any bytes are allowed; those that this
 * module did not allocate are ignored.
 */
export function giveBack(chunk: Uint8Array): void {
  if (!lent.delete(chunk.buffer)) return
  const spares = chunk.buffer.byteLength === CHUNK_BYTES_MAX ? CHUNKS : WHOLES
  if (spares.buffers.length < spares.most) spares.buffers.push(Buffer.from(chunk.buffer))
}

/** Bytes as text; nothing is copied before. */
export const textOf = (bytes: Uint8Array, encoding: BufferEncoding = 'utf8'): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)

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

/** A stream whose first chunks were taken already. */
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
  if (first !== null && bytes !== first) giveBack(first)
  return { kind: 'bytes', bytes }
}

/** What a stream without bytes stands for. */
const NULL = Buffer.from('null')

/** The body of a result: see `ResultStream.open`. */
export const openResult = (stream: ResultStream, options: OpenOptions): Promise<Body> | Body =>
  stream.open?.(options) ?? openChunks(stream, options)
