// Reads a request's body within its limit.
import { isAscii } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { free } from './free.ts'
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
   * Whether a request that begins with this text is refused whatever follows. Called after each of
   * `LOOKS_BYTES`.
   */
  readonly isRefusedBy: (head: string) => boolean
}

/**
 * Bytes of a large body after which what has come of it is looked at. A batch of short requests
 * beyond its limit shows in one of the first looks, which cost little.
 */
const LOOKS_BYTES: readonly number[] = [64 * 1024, 128 * 1024, 256 * 1024]

/** Chunks that any body may come in. */
const CHUNKS_MIN = 4096

/** Bytes that the chunks of a body with more of them must have on average. */
const CHUNK_BYTES_MEAN_MIN = 64

/**
 * Chunks of fewer bytes are copied together: each would hold the memory of a whole read of its
 * socket.
 */
const COPIED_BYTES_MAX = 16 * 1024

/** Size of the buffers that small parts are copied to, in bytes. */
const COPY_BYTES = 64 * 1024

const EMPTY = Buffer.alloc(0)

/** The chunks of a body. They take about as much memory as the body, however small they are. */
export class Gathered {
  /** Most bodies are one chunk. */
  private first: Buffer | undefined
  private readonly more: Buffer[] = []
  /** What small chunks are copied to, and how much of it is filled. */
  private copy: Buffer | undefined
  private filled = 0
  private bytes = 0

  get isEmpty(): boolean {
    return this.first === undefined
  }

  add(chunk: Buffer): void {
    this.bytes += chunk.length
    if (this.first === undefined) this.first = chunk
    else if (chunk.length < COPIED_BYTES_MAX) this.addSmall(chunk)
    else {
      this.flush()
      this.more.push(chunk)
    }
  }

  /**
   * All of it; undefined where it is too large for characters beyond ASCII. The chunks are gone
   * after that.
   */
  text(): string | undefined {
    const whole = this.whole()
    if (whole !== this.first) this.clear()
    const isWide = whole.length > WIDE_TEXT_BYTES_MAX && !isAscii(whole)
    const text = isWide ? undefined : whole.toString('utf8')
    free(whole)
    this.clear()
    return text
  }

  /** Releases its memory. */
  clear(): void {
    if (this.first !== undefined) free(this.first)
    for (const chunk of this.more) free(chunk)
    this.first = undefined
    this.more.length = 0
    this.copy = undefined
  }

  /** What has come so far. */
  head(): string {
    return this.whole().toString('utf8')
  }

  private whole(): Buffer {
    const { first, more } = this
    if (first === undefined) return EMPTY
    this.flush()
    return more.length === 0 ? first : Buffer.concat([first, ...more], this.bytes)
  }

  private addSmall(chunk: Buffer): void {
    if (this.copy !== undefined && this.filled + chunk.length > this.copy.length) this.flush()
    this.copy ??= Buffer.allocUnsafeSlow(COPY_BYTES)
    this.filled += chunk.copy(this.copy, this.filled)
  }

  private flush(): void {
    if (this.copy !== undefined) this.more.push(this.copy.subarray(0, this.filled))
    this.copy = undefined
    this.filled = 0
  }
}

/** Why a body was not read. */
export type BodyFailure = BodyTooLarge | BodyStalled | BodyRefused | BodyFragmented

/**
 * Reads a body: calls back once with the whole of it as text, with `BodyTooLarge` or `BodyRefused`
 * as soon as it is known, or with `BodyStalled` where nothing more comes. Of a body that
 * `isRefusedBy` refuses the text is what had come by then: gathering and decoding the rest, some
 * milliseconds of every other client's time for each 5 MiB, would not change the answer. The
 * function that is returned forgets the body, for a disconnect of the client.
 */
export function readBody(request: IncomingMessage, limits: BodyLimits, done: (body: string | BodyFailure) => void): () => void {
  const length = declaredLength(request)
  if (length !== undefined && length > limits.bytes) {
    done(new BodyTooLarge(`content length too large (${length}>${limits.bytes})`))
    return () => undefined
  }
  const { idle } = limits
  const body = new Gathered()
  let size = 0
  let chunks = 0
  let over = false
  let looks = 0
  const waiter: Waiter = { lastMs: performance.now(), stalled: () => end(new BodyStalled('request timeout')) }
  const forget = (): void => {
    over = true
    idle.end(waiter)
    // The request may live for long after that, and this with it.
    body.clear()
  }
  const end = (outcome: string | BodyFailure): void => {
    forget()
    done(outcome)
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
    const next = LOOKS_BYTES[looks]
    if (next === undefined || size < next) return
    while (size >= (LOOKS_BYTES[looks] ?? Number.POSITIVE_INFINITY)) looks++
    const head = body.head()
    if (limits.isRefusedBy(head)) end(head)
  })
  request.on('end', () => {
    if (!over) end(body.text() ?? new BodyTooLarge(`request body of more than ${WIDE_TEXT_BYTES_MAX} bytes that are not all ASCII`))
  })
  idle.begin(waiter)
  return forget
}
