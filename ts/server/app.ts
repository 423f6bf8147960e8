// Serves HTTP. JSON-RPC reads the raw request and writes the raw response, since bodies and answers
// are bytes; the other routes are Hono's.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { CoreError } from '../core/error.ts'
import type { Barred } from '../rpc/client.ts'
import type { Dispatch } from '../rpc/dispatch.ts'
import { noRoomForClient } from '../rpc/errors.ts'
import { REDIRECTED_HEADER } from '../rpc/redirect.ts'
import type { Reply } from '../rpc/reply.ts'
import { isRefused, type RequestLimits } from '../rpc/scan.ts'
import { FORWARDED_HEADER } from '../rpc/submission.ts'
import { negotiate } from './accept.ts'
import type { Authentication } from './admission/auth.ts'
import type { Admission } from './admission/index.ts'
import { type BodyFailure, BodyFragmented, BodyRefused, BodyStalled, declaredLength, readBody } from './body.ts'
import { applyCors } from './cors.ts'
import type { Drain } from './drain.ts'
import type { Dispatched } from './fast-path.ts'
import { hostOf, isAllowedHost } from './hosts.ts'
import type { IdleClock } from './idle.ts'
import { lazyListener } from './lazy.ts'
import { REFUSED_BODY_BYTES_MAX } from './limits.ts'
import { isPageRequest } from './pages/route.ts'
import type { Readiness } from './readiness.ts'
import { type Compression, endShort, sendReply } from './respond.ts'
import { CHALLENGE, unauthorizedBody } from './unauthorized.ts'
import { WaitingClient } from './waiting.ts'

/** What the HTTP side needs to know. */
export interface AppOptions {
  readonly dispatch: Dispatch
  readonly admission: Admission
  /** The authentication of the listener; undefined for none. */
  readonly authentication?: Authentication | undefined
  readonly corsOrigins: readonly string[]
  /** Allowed host names of the node, lower case. */
  readonly allowedHosts: readonly string[]
  readonly maxBodyBytes: number
  /** Limits of requests, by which a large body may be refused before all of it has come. */
  readonly requestLimits: RequestLimits
  /** Reads what is left of such a body. */
  readonly drain: Drain
  readonly compression: Compression
  /** Refuses clients that send nothing of their body for too long. */
  readonly bodyIdle: IdleClock
  /** A client that takes nothing of a whole answer for this long is cut off, in milliseconds. */
  readonly writeMs: number
  /** A client that takes nothing of a streamed answer for this long is cut off, in milliseconds. */
  readonly stallMs: number
  /** What GET / answers. */
  readonly about: string
  /** The answers to probes; undefined if the listener has none. */
  readonly readiness?: Readiness | undefined
  /** What serves the explorer's pages; undefined where they are off. */
  readonly pages?: RequestListener | undefined
  /**
   * The port of the explorer, whose page may read answers of this listener too; undefined where
   * that is the same listener, or there is none.
   */
  readonly explorerPort?: (() => number | undefined) | undefined
  /** Replies to requests that the fast path dispatched, by connection. */
  readonly dispatched: WeakMap<Socket, Dispatched>
  /** Called with failures that do not reach any client. */
  readonly report: (e: unknown) => void
}

const CONTENT_TYPES = new Set(['application/json', 'application/json-rpc', 'application/jsonrequest'])

/** The answer to a refused client. */
interface Refusal {
  readonly status: number
  readonly type: string
  readonly body: string
}

/** A refusal in plain text, as go-ethereum's. */
function refuse(options: AppOptions, request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
  refuseWith(options, request, response, { status, type: 'text/plain; charset=utf-8', body: `${message}\n` })
}

/**
 * A refusal. The rest of the request is read and discarded, up to a bound, and the connection ends.
 */
function refuseWith({ writeMs }: AppOptions, request: IncomingMessage, response: ServerResponse, { status, type, body }: Refusal): void {
  if (!request.complete) {
    response.setHeader('connection', 'close')
    let size = 0
    request.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > REFUSED_BODY_BYTES_MAX) request.destroy()
    })
    request.resume()
  }
  if (status === 405) response.setHeader('allow', 'POST, GET, OPTIONS')
  response.statusCode = status
  response.setHeader('content-type', type)
  endShort(response, writeMs, body)
}

/** A refusal for want of a token or JWT. */
function refuseUnauthorized(options: AppOptions, request: IncomingMessage, response: ServerResponse, why: string): void {
  response.setHeader('www-authenticate', CHALLENGE)
  refuseWith(options, request, response, { status: 401, type: 'application/json', body: unauthorizedBody(why) })
}

/** Refuses a request whose body was not read. */
function refuseBody(options: AppOptions, request: IncomingMessage, response: ServerResponse, failure: BodyFailure): void {
  if (failure instanceof BodyFragmented) {
    refuse(options, request, response, 400, failure.message)
    // What is still to come is not read: it is the same work.
    request.socket.destroySoon()
    return
  }
  const status = failure instanceof BodyStalled ? 408 : failure instanceof BodyRefused ? 429 : 413
  refuse(options, request, response, status, failure.message)
}

/** Whether work was cancelled because its client has gone, which is no failure. */
export const isGone = (response: ServerResponse, e: unknown): boolean => response.closed && e instanceof CoreError && e.kind === 'cancelled'

/** Whether a body of this type is read. */
export function isJson(type: string | undefined): boolean {
  return type !== undefined && (CONTENT_TYPES.has(type) || CONTENT_TYPES.has((type.split(';')[0] as string).trim().toLowerCase()))
}

/** Whether a body is sent as it is (RFC 9110, section 8.4). */
const isIdentity = (encoding: string | undefined): boolean => encoding === undefined || encoding.trim().toLowerCase() === 'identity'

/** Serves a POST. */
function serveRpc(options: AppOptions, request: IncomingMessage, response: ServerResponse): void {
  const dispatched = options.dispatched.get(request.socket)
  if (dispatched !== undefined) {
    sendDispatched(options, request, response, dispatched)
    return
  }
  const { headers } = request
  const length = declaredLength(request)
  if (length !== undefined && length > options.maxBodyBytes) {
    refuse(options, request, response, 413, `content length too large (${length}>${options.maxBodyBytes})`)
  } else if (!isJson(headers['content-type'])) {
    refuse(options, request, response, 415, 'invalid content type, only application/json is supported')
  } else if (!isIdentity(headers['content-encoding'])) {
    response.setHeader('accept-encoding', 'identity')
    refuse(options, request, response, 415, 'invalid content encoding, only identity is supported')
  } else {
    const { authentication } = options
    const why = authentication?.refusal(headers.authorization)
    if (why === undefined) serveJson(options, request, response)
    else if (authentication?.namespaces === undefined) refuseUnauthorized(options, request, response, why)
    else serveJson(options, request, response, { namespaces: authentication.namespaces, why })
  }
}

/** Sends the reply to a request that the fast path dispatched. */
function sendDispatched(options: AppOptions, request: IncomingMessage, response: ServerResponse, { reply, end }: Dispatched): void {
  const { compression, writeMs, stallMs } = options
  options.dispatched.delete(request.socket)
  request.resume()
  response.once('close', end)
  sendReply(response, reply, { accept: acceptedBy(request), compression, writeMs, stallMs })?.catch((e: unknown) => {
    if (!isGone(response, e)) options.report(e)
    response.destroy()
  })
}

/** The header `accept-encoding` of a request. */
function acceptedBy({ headers }: IncomingMessage): string | undefined {
  const accept = headers['accept-encoding']
  return Array.isArray(accept) ? accept.join(',') : accept
}

/** Why there is no room for a body; over HTTP in few words. */
const BUSY = 'server busy'
const OVER_SHARE = noRoomForClient().message

/**
 * Work without waiting is done within the event of the body's end: promises cost more than short
 * reads.
 */
function serveJson(options: AppOptions, request: IncomingMessage, response: ServerResponse, barred?: Barred): void {
  const { admission, compression } = options
  const accepted = acceptedBy(request)
  const address = admission.clientOf(request)
  const admit = (requests: number): number => admission.admit(address, requests)
  const gzipOver = negotiate(accepted, true) === 'gzip' ? compression.thresholdBytes : undefined
  const forwarded = FORWARDED_HEADER in request.headers || REDIRECTED_HEADER in request.headers
  const client = new WaitingClient('http', address, admit, { gzipOver, barred, forwarded })
  let taken = 0
  const take = (bytes: number): string | undefined => {
    if (!admission.httpShares.take(address, bytes)) return OVER_SHARE
    if (!admission.httpBytes.take(bytes)) {
      admission.httpShares.release(address, bytes)
      return BUSY
    }
    taken += bytes
    return undefined
  }
  const failed = (e: unknown): void => {
    if (!isGone(response, e)) options.report(e)
    response.destroy()
  }
  const { writeMs, stallMs } = options
  const send = (reply: Reply): void => void sendReply(response, reply, { accept: accepted, compression, writeMs, stallMs })?.catch(failed)
  const answerTo = (body: string): void => {
    try {
      const reply = options.dispatch(body, client)
      if (reply instanceof Promise) reply.then(send).catch(failed)
      else send(reply)
    } catch (e) {
      failed(e)
    }
  }
  const isRefusedBy = (head: string): boolean => isRefused(head, options.requestLimits)
  const limits = { bytes: options.maxBodyBytes, idle: options.bodyIdle, take, isRefusedBy }
  const forget = readBody(request, limits, (body) => {
    if (typeof body !== 'string') return refuseBody(options, request, response, body)
    if (!request.complete) options.drain.add(request)
    answerTo(body)
  })
  response.on('close', () => {
    forget()
    client.leave()
    admission.httpBytes.release(taken)
    admission.httpShares.release(address, taken)
  })
}

/** Whether a request came under a name of the node; it is refused otherwise. */
function isWelcome(options: AppOptions, request: IncomingMessage, response: ServerResponse): boolean {
  if (options.readiness?.draining === true) response.setHeader('connection', 'close')
  if (isAllowedHost(options.allowedHosts, request.headers.host)) return true
  refuse(options, request, response, 403, 'invalid host specified (evm.allowed_hosts)')
  return false
}

/**
 * Origins whose pages may read an answer: those of the settings, and the explorer of the same
 * host.
 */
function originsFor({ corsOrigins, explorerPort }: AppOptions, request: IncomingMessage): readonly string[] {
  const port = explorerPort?.()
  const host = port === undefined || corsOrigins.includes('*') ? undefined : hostOf(request.headers.host ?? '')
  return host === undefined ? corsOrigins : [...corsOrigins, `http://${host.includes(':') ? `[${host}]` : host}:${port}`]
}

function handle(options: AppOptions, request: IncomingMessage, response: ServerResponse): void {
  if (!isWelcome(options, request, response)) return
  if (applyCors(originsFor(options, request), request, response)) {
    response.statusCode = 204
    endShort(response, options.writeMs)
  } else if (request.method === 'POST') {
    serveRpc(options, request, response)
  } else if (request.method === 'GET' && !declaredLength(request) && !request.headers['transfer-encoding'] && request.url === '/') {
    // Health checks of load balancers send this request too.
    response.setHeader('content-type', 'text/plain; charset=utf-8')
    if (options.pages !== undefined) response.appendHeader('vary', 'accept')
    endShort(response, options.writeMs, options.about)
  } else {
    refuse(options, request, response, 405, 'method not allowed')
  }
}

/**
 * The handler of the app's requests. JSON-RPC goes directly to the handler of its route: a web
 * request and a web response for it would cost a fifth of a short answer.
 */
export function createListener(options: AppOptions): RequestListener {
  const root: RequestListener = (request, response) => handle(options, request, response)
  const routes = lazyListener(async () => (await import('./routes.ts')).createRoutes(root, options.readiness), options.report)
  const { pages } = options
  return (request, response) => {
    if (request.method === 'POST' && request.url === '/') root(request, response)
    else if (pages === undefined || !isPageRequest(request)) routes(request, response)
    else if (isWelcome(options, request, response)) pages(request, response)
  }
}
