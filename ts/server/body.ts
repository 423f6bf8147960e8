// Reads a request's body within its limit.
import type { IncomingMessage } from 'node:http'
import type { IdleClock, Waiter } from './idle.ts'

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
  /** Takes room for bytes that have come; false where there is none. */
  readonly take: (bytes: number) => boolean
}

/** Why a body was not read. */
export type BodyFailure = BodyTooLarge | BodyStalled | BodyRefused

/**
 * Reads a body: calls back once with the whole of it as text, with `BodyTooLarge` or `BodyRefused` as soon as it is known, or with
 * `BodyStalled` where nothing more comes. What it gives forgets the body, for when the client has gone.
 */
export function readBody(request: IncomingMessage, limits: BodyLimits, done: (body: string | BodyFailure) => void): () => void {
  const length = declaredLength(request)
  if (length !== undefined && length > limits.bytes) {
    done(new BodyTooLarge(`content length too large (${length}>${limits.bytes})`))
    return () => undefined
  }
  const { idle } = limits
  let first: Buffer | undefined
  const more: Buffer[] = []
  let size = 0
  let over = false
  const waiter: Waiter = { lastMs: performance.now(), stalled: () => end(new BodyStalled('request timeout')) }
  const forget = (): void => {
    over = true
    idle.end(waiter)
  }
  const end = (body: string | BodyFailure): void => {
    forget()
    done(body)
  }
  request.on('data', (chunk: Buffer) => {
    if (over) return
    size += chunk.length
    if (size > limits.bytes) return end(new BodyTooLarge(`request body too large (limit ${limits.bytes})`))
    if (!limits.take(chunk.length)) return end(new BodyRefused('server busy'))
    // Most bodies are one chunk.
    if (first === undefined) first = chunk
    else {
      more.push(chunk)
      waiter.lastMs = performance.now()
    }
  })
  request.on('end', () => {
    if (over) return
    const all = first === undefined || more.length === 0 ? first : Buffer.concat([first, ...more], size)
    end(all === undefined ? '' : all.toString('utf8'))
  })
  idle.begin(waiter)
  return forget
}
