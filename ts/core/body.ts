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
export type WholeBody = BytesBody | Latin1Body

/** A body. */
export type Body = WholeBody | StreamBody | GzipBody

/** A body of no bytes. */
export const EMPTY: Latin1Body = { kind: 'latin1', text: '' }

/** Whether a body has no bytes. */
export const isEmpty = (body: Body): boolean => body.kind === 'latin1' && body.text === ''

/** Whether a body is in one piece. */
export const isWhole = (body: Body): body is WholeBody => body.kind === 'bytes' || body.kind === 'latin1'

/** Bytes of a body in one piece. */
export const lengthOf = (body: WholeBody): number => (body.kind === 'bytes' ? body.bytes.length : body.text.length)

/** The bytes of a body in one piece. */
export const bytesOf = (body: WholeBody): Uint8Array => (body.kind === 'bytes' ? body.bytes : Buffer.from(body.text, 'latin1'))
