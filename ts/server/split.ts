// Pieces in which streamed answers are sent: a client that takes one is not stalled.

/** Size of a piece, in bytes. */
const PART_BYTES = 64 * 1024

/** A chunk in pieces of at most 64 KiB, without copying, and whether each is the last. */
export function* parts(chunk: Uint8Array): Generator<[piece: Uint8Array, last: boolean], void> {
  for (let at = 0; at < chunk.length; at += PART_BYTES) yield [chunk.subarray(at, at + PART_BYTES), at + PART_BYTES >= chunk.length]
}
