// Reads a request's body within its limit.
import { isAscii, isUtf8, transcode } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { free } from '../core/free.ts'
import type { RpcError } from '../rpc/errors.ts'
import { shortened } from '../rpc/long-params.ts'
import type { ByteScanner, Received, ScannedText } from '../rpc/scan.ts'
import type { IdleClock, Waiter } from './idle.ts'
import { WIDE_TEXT_BYTES_MAX } from './limits.ts'

/** The body is larger than the limit. */
export class BodyTooLarge extends Error {
  override name = 'BodyTooLarge'
}

/** Nothing more of the body came for too long. */
export class BodyStalled extends Error {
  override name = 'BodyStalled'
}

/** So many bytes of bodies are in memory that this one finds no room. */
export class BodyRefused extends Error {
  override name = 'BodyRefused'
}

/** The body comes in so many small chunks that reading it is more work than serving it. */
export class BodyFragmented extends Error {
  override name = 'BodyFragmented'
}

/** The declared length of a body; undefined where it comes in chunks. */
export function declaredLength(request: IncomingMessage): number | undefined {
  const header = request.headers['content-length']
  return header === undefined ? undefined : Number(header)
}

/** Limits of a body. */
export interface BodyLimits {
  /** Most bytes. */
  readonly bytes: number
  /** Ends bodies of which nothing comes for too long. */
  readonly idle: IdleClock
  /** Reserves memory for received bytes; returns the reason if there is none. */
  readonly take: (bytes: number) => string | undefined
  /**
   * Looks at what has come of a large body, and at the last at the whole of it; gives the reason if
   * the request is refused whatever follows.
   */
  readonly look?: (bytes: Buffer, isWhole: boolean) => RpcError | undefined
  /** What `look` scans with, once it was called. */
  readonly scanner?: () => ByteScanner | undefined
}

/**
 * Bytes of a body from which on what has come is looked at, and bytes that come between two looks.
 * A batch of a thousand short requests shows its size in the first read of a socket.
 */
const LOOK_BYTES = 32 * 1024

/** Chunks that any body may come in. */
const CHUNKS_MIN = 4096

/** Bytes that the chunks of a body with more of them must have on average. */
const CHUNK_BYTES_MEAN_MIN = 64

/** Least size of the memory that chunks are copied to, in bytes. */
const ROOM_BYTES_MIN = 64 * 1024

/**
 * How many times larger that memory is than what did not fit: a client that declares a large body
 * and sends little of it takes little.
 */
const ROOM_GROWTH = 4

const EMPTY = Buffer.alloc(0)

/**
 * The text of bytes, whose memory is given back; undefined where they are too many for characters
 * beyond ASCII. Through UTF-16 those take a third of the time of `toString`.
 */
export function takeText(bytes: Buffer): string | undefined {
  try {
    if (bytes.length < LOOK_BYTES) return bytes.toString('utf8')
    if (isAscii(bytes)) return bytes.toString('latin1')
    if (bytes.length > WIDE_TEXT_BYTES_MAX) return undefined
    if (!isUtf8(bytes)) return bytes.toString('utf8')
    const units = transcode(bytes, 'utf8', 'utf16le')
    free(bytes)
    const text = units.toString('utf16le')
    free(units)
    return text
  } finally {
    free(bytes)
  }
}

/**
 * The message in bytes of which all were scanned, or some or none. Its memory is given back, or is
 * that of the message's long arguments. Undefined as `takeText`.
 */
export function takeMessage(bytes: Buffer, scanner: ByteScanner | undefined): string | ScannedText | undefined {
  const short = scanner && shortened(bytes, scanner.long)
  if (short === undefined) {
    const text = takeText(bytes)
    return text === undefined ? undefined : (scanner?.messageOf(text) ?? text)
  }
  if (bytes.length > WIDE_TEXT_BYTES_MAX && !isAscii(short.bytes)) return undefined
  const text = takeText(short.bytes)
  return text === undefined ? undefined : scanner?.messageOf(text, short.long)
}

/** Whether the bytes of a message are those of its long arguments. */
export const holdsBytes = (message: Received | undefined): boolean => typeof message === 'object' && 'long' in message

/**
 * The bytes of a body. A body of one chunk is that chunk; the chunks of another are copied as they
 * come, so that the reads of the socket that they are part of hold no memory.
 */
export class Gathered {
  private readonly bytesMax: number
  private room: Buffer = EMPTY
  private filled = 0

  /** `bytesMax` are the most that can come. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  get isEmpty(): boolean {
    return this.filled === 0
  }

  add(chunk: Buffer): void {
    const filled = this.filled + chunk.length
    if (this.filled === 0) this.room = chunk
    else {
      if (filled > this.room.length) this.grow(filled)
      chunk.copy(this.room, this.filled)
      free(chunk)
    }
    this.filled = filled
  }

  /** What has come so far. */
  bytes(): Buffer {
    return this.filled === this.room.length ? this.room : this.room.subarray(0, this.filled)
  }

  /** All of it as `takeMessage`. Its memory is released, or is the message's. */
  message(scanner?: ByteScanner): string | ScannedText | undefined {
    const message = takeMessage(this.bytes(), scanner)
    if (holdsBytes(message)) this.room = EMPTY
    this.clear()
    return message
  }

  /** Releases its memory. */
  clear(): void {
    free(this.room)
    this.room = EMPTY
    this.filled = 0
  }

  private grow(bytes: number): void {
    const room = Buffer.allocUnsafeSlow(Math.max(bytes, Math.min(Math.max(ROOM_BYTES_MIN, this.room.length * ROOM_GROWTH), this.bytesMax)))
    this.room.copy(room, 0, 0, this.filled)
    free(this.room)
    this.room = room
  }
}

/** Why a body was not read. */
export type BodyFailure = BodyTooLarge | BodyStalled | BodyRefused | BodyFragmented

/**
 * Reads a body: calls back once with the whole of it as text, with why it is not read as soon as
 * that is known, or with the refusal that a look found: gathering and decoding the rest, some
 * milliseconds of every other client's time for each 5 MiB, would not change the answer. The
 * function that is returned forgets the body, for a disconnect of the client.
 */
export function readBody(request: IncomingMessage, limits: BodyLimits, done: (body: Received | BodyFailure) => void): () => void {
  const length = declaredLength(request)
  if (length !== undefined && length > limits.bytes) {
    done(new BodyTooLarge(`content length too large (${length}>${limits.bytes})`))
    return () => undefined
  }
  const { idle } = limits
  const body = new Gathered(length ?? limits.bytes)
  let size = 0
  let chunks = 0
  let over = false
  let looked = 0
  const waiter: Waiter = { lastMs: performance.now(), stalled: () => end(new BodyStalled('request timeout')) }
  const forget = (): void => {
    over = true
    idle.end(waiter)
    // The request may live for long after that, and this with it.
    body.clear()
  }
  const end = (outcome: Received | BodyFailure): void => {
    forget()
    done(outcome)
  }
  const look = (isWhole: boolean): RpcError | undefined => {
    looked = size
    return limits.look?.(body.bytes(), isWhole)
  }
  request.on('data', (chunk: Buffer) => {
    if (over) return
    size += chunk.length
    if (size > limits.bytes) return end(new BodyTooLarge(`request body too large (limit ${limits.bytes})`))
    if (++chunks > CHUNKS_MIN && size < chunks * CHUNK_BYTES_MEAN_MIN) return end(new BodyFragmented('request body in too many chunks'))
    const refused = limits.take(chunk.length)
    if (refused !== undefined) return end(new BodyRefused(refused))
    if (!body.isEmpty) waiter.lastMs = performance.now()
    body.add(chunk)
    if (size - looked < LOOK_BYTES) return
    const found = look(false)
    if (found !== undefined) end(found)
  })
  request.on('end', () => {
    if (over) return
    const found = looked === 0 ? undefined : look(true)
    if (found !== undefined) return end(found)
    end(
      body.message(limits.scanner?.()) ?? new BodyTooLarge(`request body of more than ${WIDE_TEXT_BYTES_MAX} bytes that are not all ASCII`),
    )
  })
  idle.begin(waiter)
  return forget
}
