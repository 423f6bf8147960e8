// How requests are refused on the raw response.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type BodyFailure, BodyFragmented, BodyRefused, BodyStalled, declaredLength } from './body.ts'
import { closeAfter } from './connections.ts'
import { REFUSED_BODY_BYTES_MAX } from './limits.ts'
import { endShort } from './respond.ts'
import { CHALLENGE, unauthorizedBody } from './unauthorized.ts'

/** The answer to a refused client. */
interface Refusal {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** Reads and discards the rest of a body, up to a bound, so that the client sees its answer. */
export function discardBody(request: IncomingMessage): void {
  if (request.complete) return
  // The web stream of a body (`Readable.toWeb`, which Hono's bodyLimit makes) pauses the request
  // once its queue is full, and the next request of the connection would never be read.
  request.removeAllListeners('data')
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size > REFUSED_BODY_BYTES_MAX) request.destroy()
  })
  request.resume()
}

/** Whether a request has a body, which may have come already (RFC 9112, section 6). */
const hasBody = (request: IncomingMessage): boolean =>
  request.headers['transfer-encoding'] !== undefined || Boolean(declaredLength(request))

/**
 * A refusal. The body of the request is read and discarded, up to a bound, and the connection ends,
 * however much of the body has come.
 */
function refuseWith(request: IncomingMessage, response: ServerResponse, writeMs: number, { status, type, body }: Refusal): void {
  if (!request.complete || hasBody(request)) closeAfter(response)
  discardBody(request)
  if (status === 405) response.setHeader('allow', 'POST, GET, OPTIONS')
  response.statusCode = status
  response.setHeader('content-type', type)
  endShort(response, writeMs, body)
}

/**
 * A refusal in plain text, as go-ethereum's. A client that takes none of it for `writeMs`
 * milliseconds is cut off.
 */
export function refuse(request: IncomingMessage, response: ServerResponse, writeMs: number, status: number, message: string): void {
  refuseWith(request, response, writeMs, { status, type: 'text/plain; charset=utf-8', body: `${message}\n` })
}

/** A refusal for want of a token or JWT. */
export function refuseUnauthorized(request: IncomingMessage, response: ServerResponse, writeMs: number, why: string): void {
  response.setHeader('www-authenticate', CHALLENGE)
  refuseWith(request, response, writeMs, { status: 401, type: 'application/json', body: unauthorizedBody(why) })
}

/** Refuses a request whose body was not read. */
export function refuseBody(request: IncomingMessage, response: ServerResponse, writeMs: number, failure: BodyFailure): void {
  if (failure instanceof BodyFragmented) {
    refuse(request, response, writeMs, 400, failure.message)
    // What is still to come is not read: it is the same work.
    request.socket.destroySoon()
    return
  }
  const status = failure instanceof BodyStalled ? 408 : failure instanceof BodyRefused ? 429 : 413
  refuse(request, response, writeMs, status, failure.message)
}
