// Memory of chunks: what was sent is used again, since a new buffer for every chunk keeps the garbage collector busy.

/** Most bytes that a chunk holds. */
export const CHUNK_BYTES_MAX = 256 * 1024

/** Buffers that wait to be used again, 4 MiB: a few streams at once need no more. */
const SPARE_MAX = 16

const spare: Buffer[] = []
const lent = new WeakSet<ArrayBufferLike>()

/** Memory for a chunk of so many bytes, not cleared: at most `CHUNK_BYTES_MAX`. */
export function lend(bytes: number): Buffer {
  // Small ones share a slab of Node's.
  if (bytes < CHUNK_BYTES_MAX / 4) return Buffer.allocUnsafe(bytes)
  const buffer = spare.pop() ?? Buffer.allocUnsafeSlow(CHUNK_BYTES_MAX)
  lent.add(buffer.buffer)
  return buffer.subarray(0, Math.min(bytes, CHUNK_BYTES_MAX))
}

/** Gives back the memory of a chunk that nobody reads any more. Any bytes are allowed; those that were not lent here are left alone. */
export function giveBack(chunk: Uint8Array): void {
  if (!lent.delete(chunk.buffer) || spare.length >= SPARE_MAX) return
  spare.push(Buffer.from(chunk.buffer))
}
