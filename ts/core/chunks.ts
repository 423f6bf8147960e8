// Memory of chunks: what was sent is used again, since a new buffer for every chunk keeps the garbage collector busy.

import type { ResultStream } from './port.ts'

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

/** Memory for an answer of one piece of at least so many bytes, not cleared: at most `WHOLE_BYTES_MAX`. */
export const lendWhole = (bytes: number): Buffer => take(bytes <= CHUNK_BYTES_MAX ? CHUNKS : WHOLES)

/** Gives back the memory of a chunk that nobody reads any more. Any bytes are allowed; those that were not lent here are left alone. */
export function giveBack(chunk: Uint8Array): void {
  if (!lent.delete(chunk.buffer)) return
  const spares = chunk.buffer.byteLength === CHUNK_BYTES_MAX ? CHUNKS : WHOLES
  if (spares.buffers.length < spares.most) spares.buffers.push(Buffer.from(chunk.buffer))
}

/** Bytes as text; nothing is copied before. */
export const textOf = (bytes: Uint8Array, encoding: BufferEncoding = 'utf8'): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)

/** All of a stream as text. */
export async function streamText(stream: ResultStream): Promise<string> {
  const chunks: Uint8Array[] = []
  for (let chunk = await stream.next(); chunk !== null; chunk = await stream.next()) chunks.push(chunk)
  return chunks.length === 1 ? textOf(chunks[0] as Uint8Array) : Buffer.concat(chunks).toString()
}
