// Reads a request's body within its limit.
import type { IncomingMessage } from 'node:http'

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

/** The client went away before the body was whole. */
export class BodyAborted extends Error {
  override name = 'BodyAborted'
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
  /** Longest time without a byte, in milliseconds; 0 is none. */
  readonly idleMs: number
  /** Takes room for bytes that have come; false where there is none. */
  readonly take: (bytes: number) => boolean
}

/** The whole body as text; rejects with `BodyTooLarge` or `BodyRefused` as soon as it is known, `BodyStalled` where nothing more comes. */
export function readBody(request: IncomingMessage, { bytes: limit, idleMs, take }: BodyLimits): Promise<string> {
  const length = declaredLength(request)
  if (length !== undefined && length > limit) return Promise.reject(new BodyTooLarge(`content length too large (${length}>${limit})`))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const onIdle = (): void => {
      done()
      reject(new BodyStalled('request timeout'))
    }
    const timer = idleMs === 0 ? undefined : setTimeout(onIdle, idleMs)
    const done = (): void => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('error', onAbort).off('close', onAbort)
    }
    const onData = (chunk: Buffer): void => {
      size += chunk.length
      timer?.refresh()
      if (size > limit) {
        done()
        reject(new BodyTooLarge(`request body too large (limit ${limit})`))
        return
      }
      if (!take(chunk.length)) {
        done()
        reject(new BodyRefused('server busy'))
        return
      }
      chunks.push(chunk)
    }
    const onEnd = (): void => {
      done()
      resolve(chunks.length === 1 ? (chunks[0] as Buffer).toString('utf8') : Buffer.concat(chunks, size).toString('utf8'))
    }
    const onAbort = (): void => {
      done()
      reject(new BodyAborted('the client went away'))
    }
    request.on('data', onData).on('end', onEnd).on('error', onAbort).on('close', onAbort)
  })
}
