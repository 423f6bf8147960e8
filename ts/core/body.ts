// The bodies of answers, from the core to the socket.

/**
 * Bytes in chunks, made as fast as they are taken. A chunk's memory may be given back (`release`)
 * once it was sent.
 */
export interface ByteStream {
  /**
   * The next chunk, null at the end. Rejects where the work fails; the stream is over then. One
   * call at a time.
   */
  next(): Promise<Uint8Array | null>
  /** Cancels the work. Allowed at any time, also after the end. */
  cancel(): void
}

/** Bytes in one piece. */
export interface BytesBody {
  readonly kind: 'bytes'
  readonly bytes: Uint8Array
}

/**
 * A short body as text, each character of which is one byte (Latin-1): Node sends such text
 * together with the headers.
 */
export interface Latin1Body {
  readonly kind: 'latin1'
  readonly text: string
}

/**
 * Bytes in the core's memory, to be sent from there or copied; at most `WHOLE_BYTES_MAX`. The
 * garbage collector does not count them: one of `send`, `bytesOf` and `release` must end their use.
 */
export interface SharedAnswer {
  readonly length: number
  /**
   * Sends `first` and these bytes to a socket by the number of its file, as much as the system
   * takes at once; how many bytes. Nothing may wait in the socket before. What was sent as a whole
   * is released.
   */
  send(fd: number, first: Buffer): number
  /** A copy from this byte on, whose memory may be given back (`release` of `core/chunks.ts`). */
  copy(from?: number): Uint8Array
  /** Ends the use of the core's memory. */
  release(): void
}

/** Bytes in one piece in the core's memory. */
export interface SharedBody {
  readonly kind: 'shared'
  readonly answer: SharedAnswer
}

/** Bytes in chunks. */
export interface StreamBody {
  readonly kind: 'stream'
  readonly stream: ByteStream
}

/** One gzip member. */
export interface GzipBody {
  readonly kind: 'gzip'
  /** Bytes of the member. */
  readonly length: number
  readonly member: WholeBody | StreamBody
}

/** A body in one piece. */
export type WholeBody = BytesBody | Latin1Body | SharedBody

/** A body. */
export type Body = WholeBody | StreamBody | GzipBody

/** A body of no bytes. */
export const EMPTY: Latin1Body = { kind: 'latin1', text: '' }

/** Whether a body has no bytes. */
export const isEmpty = (body: Body): boolean => body.kind === 'latin1' && body.text === ''

/** Whether a body is in one piece. */
export const isWhole = (body: Body): body is WholeBody => body.kind !== 'stream' && body.kind !== 'gzip'

/** Bytes of a body in one piece. */
export function lengthOf(body: WholeBody): number {
  if (body.kind === 'latin1') return body.text.length
  return body.kind === 'bytes' ? body.bytes.length : body.answer.length
}

/** The bytes of a body in one piece, which is used up by that. */
export function bytesOf(body: WholeBody): Uint8Array {
  if (body.kind === 'latin1') return Buffer.from(body.text, 'latin1')
  if (body.kind === 'bytes') return body.bytes
  const bytes = body.answer.copy()
  body.answer.release()
  return bytes
}
