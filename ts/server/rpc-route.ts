// The route of JSON-RPC: it reads the raw request and writes the raw response, since bodies and
// answers are bytes.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context } from 'hono'
import { CoreError } from '../core/error.ts'
import type { DeniedNamespaces } from '../rpc/client.ts'
import type { Dispatch } from '../rpc/dispatch.ts'
import { noRoomForClient, RpcError } from '../rpc/errors.ts'
import { REDIRECTED_HEADER } from '../rpc/redirect.ts'
import type { Reply } from '../rpc/reply.ts'
import { ByteScanner, type Received, type RequestLimits } from '../rpc/scan.ts'
import { FORWARDED_HEADER } from '../rpc/submission.ts'
import type { Admission } from './admission/index.ts'
import { declaredLength, readBody } from './body.ts'
import type { Drain } from './drain.ts'
import type { Dispatched } from './fast-path.ts'
import type { IdleClock } from './idle.ts'
import { isIdentity, isJson } from './media.ts'
import type { AppEnv, Step } from './middleware.ts'
import { refuse, refuseBody } from './refuse.ts'
import { RequestContext } from './request-context.ts'
import { type Compression, sendReply, storedGzipOver } from './respond.ts'
import type { Turns } from './turns.ts'

/** What the route of JSON-RPC needs to know. */
export interface RpcOptions {
  readonly dispatch: Dispatch
  readonly admission: Admission
  readonly maxBodyBytes: number
  /** Limits of requests, by which a large body may be refused before all of it has come. */
  readonly requestLimits: RequestLimits
  /** Reads what is left of such a body. */
  readonly drain: Drain
  readonly compression: Compression
  /** Gives each request its turn. */
  readonly turns: Turns
  /** Refuses clients that send nothing of their body for too long. */
  readonly bodyIdle: IdleClock
  /** A client that takes nothing of a whole answer for this long is cut off, in milliseconds. */
  readonly writeMs: number
  /** A client that takes nothing of a streamed answer for this long is cut off, in milliseconds. */
  readonly stallMs: number
  /** Replies to requests that the fast path dispatched, by connection. */
  readonly dispatched: WeakMap<Socket, Dispatched>
  /** Called with failures that do not reach any client. */
  readonly report: (e: unknown) => void
}

/** Whether work was cancelled because its client has disconnected, which is no failure. */
const isGone = (response: ServerResponse, e: unknown): boolean => response.destroyed && e instanceof CoreError && e.kind === 'cancelled'

/** Sends replies that the fast path has already; other requests continue. */
export const dispatchedBefore =
  (options: RpcOptions): Step =>
  (c, next) => {
    const { incoming, outgoing } = c.env
    const dispatched = options.dispatched.get(incoming.socket)
    if (dispatched === undefined) return next()
    sendDispatched(options, incoming, outgoing, dispatched)
    return RESPONSE_ALREADY_SENT
  }

/** Lets bodies pass that are JSON and not too large, by their headers. */
export const jsonBodies =
  ({ maxBodyBytes, writeMs }: RpcOptions): Step =>
  (c, next) => {
    const { incoming, outgoing } = c.env
    const { headers } = incoming
    const length = declaredLength(incoming)
    if (length !== undefined && length > maxBodyBytes) {
      refuse(incoming, outgoing, writeMs, 413, `content length too large (${length}>${maxBodyBytes})`)
    } else if (!isJson(headers['content-type'])) {
      refuse(incoming, outgoing, writeMs, 415, 'invalid content type, only application/json is supported')
    } else if (!isIdentity(headers['content-encoding'])) {
      outgoing.setHeader('accept-encoding', 'identity')
      refuse(incoming, outgoing, writeMs, 415, 'invalid content encoding, only identity is supported')
    } else return next()
    return RESPONSE_ALREADY_SENT
  }

/** Reads a body, dispatches it and sends the reply. */
export const jsonRpc =
  (options: RpcOptions) =>
  (c: Context<AppEnv>): Response => {
    serveBody(options, c.env.incoming, c.env.outgoing, c.get('denied'))
    return RESPONSE_ALREADY_SENT
  }

/** Sends the reply to a request that the fast path dispatched. */
function sendDispatched(options: RpcOptions, request: IncomingMessage, response: ServerResponse, { reply, end }: Dispatched): void {
  const { compression, writeMs, stallMs } = options
  options.dispatched.delete(request.socket)
  request.resume()
  // The client may have disconnected while the app was loaded.
  if (response.closed) end()
  else response.once('close', end)
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
function serveBody(options: RpcOptions, request: IncomingMessage, response: ServerResponse, denied: DeniedNamespaces | undefined): void {
  const { admission, compression } = options
  const accepted = acceptedBy(request)
  const address = admission.clientOf(request)
  const admit = (requests: number): number => admission.admit(address, requests)
  const gzipOver = storedGzipOver(accepted, compression)
  const forwarded = FORWARDED_HEADER in request.headers || REDIRECTED_HEADER in request.headers
  const client = new RequestContext('http', address, admit, { gzipOver, denied, forwarded })
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
  const answerTo = (body: Received): void => {
    try {
      const reply = options.dispatch(body, client)
      if (reply instanceof Promise) reply.then(send).catch(failed)
      else send(reply)
    } catch (e) {
      failed(e)
    }
  }
  let scanner: ByteScanner | undefined
  const look = (bytes: Buffer, isWhole: boolean): RpcError | undefined => {
    scanner ??= new ByteScanner(options.requestLimits)
    return scanner.look(bytes, isWhole)
  }
  const limits = { bytes: options.maxBodyBytes, idle: options.bodyIdle, take, look, scanner: () => scanner }
  const forget = readBody(request, limits, (body) => {
    if (body instanceof Error && !(body instanceof RpcError)) return refuseBody(request, response, writeMs, body)
    const serve = (): void =>
      options.turns.run(address, () => {
        if (!response.destroyed) answerTo(body)
      })
    if (request.complete) return serve()
    options.drain.add(request)
    options.drain.answer(address, response, serve)
  })
  response.once('close', () => {
    forget()
    client.leave()
    admission.httpBytes.release(taken)
    admission.httpShares.release(address, taken)
  })
}
