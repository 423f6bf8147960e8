// The Hono app: every route of the node. JSON-RPC reads the raw request and writes the raw response, since bodies and answers are bytes.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import { type Dispatch, Packed } from '../rpc/dispatch.ts'
import { negotiate } from './accept.ts'
import type { Admission } from './admission/index.ts'
import { BodyAborted, BodyRefused, BodyStalled, BodyTooLarge, declaredLength, readBody } from './body.ts'
import { applyCors } from './cors.ts'
import { isAllowedHost } from './hosts.ts'
import { BAKED_PLAIN_BYTES_MAX, REFUSED_BODY_BYTES_MAX } from './limits.ts'
import { addProbes, type Readiness } from './readiness.ts'
import { type Compression, sendBytes, sendPacked, sendStream } from './respond.ts'
import { WaitingClient } from './waiting.ts'

/** What the HTTP side needs to know. */
export interface AppOptions {
  readonly dispatch: Dispatch
  readonly admission: Admission
  readonly corsOrigins: readonly string[]
  /** Host names that the node may be asked under, lower case. */
  readonly allowedHosts: readonly string[]
  readonly maxBodyBytes: number
  readonly compression: Compression
  /** A client that sends nothing of its body for this long is refused, in milliseconds; 0 lets it be. */
  readonly bodyIdleMs: number
  /** A client that takes nothing of a whole answer for this long is cut off, in milliseconds. */
  readonly writeMs: number
  /** A client that takes nothing of a streamed answer for this long is cut off, in milliseconds. */
  readonly stallMs: number
  /** What probes are told; undefined where the listener has none. */
  readonly readiness?: Readiness | undefined
  /** Told of failures that no client can be told of. */
  readonly report: (e: unknown) => void
}

const CONTENT_TYPES = new Set(['application/json', 'application/json-rpc', 'application/jsonrequest'])

/** A refusal in plain text, as go-ethereum's. What the client still sends is read and thrown away, up to a bound, and the connection ends. */
function refuse(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
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
  response.setHeader('content-type', 'text/plain; charset=utf-8')
  response.end(`${message}\n`)
}

/** How the answer to a client is compressed. */
function compressionOf({ origin }: WaitingClient, { compression }: AppOptions): Compression {
  if (origin !== 'baked' || compression.thresholdBytes >= BAKED_PLAIN_BYTES_MAX) return compression
  return { ...compression, thresholdBytes: BAKED_PLAIN_BYTES_MAX }
}

async function serveRpc(options: AppOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase() ?? ''
  const length = declaredLength(request)
  if (length !== undefined && length > options.maxBodyBytes) {
    return refuse(request, response, 413, `content length too large (${length}>${options.maxBodyBytes})`)
  }
  if (!CONTENT_TYPES.has(type)) return refuse(request, response, 415, 'invalid content type, only application/json is supported')
  const accept = request.headers['accept-encoding']
  const accepted = Array.isArray(accept) ? accept.join(',') : accept
  const gzip = accepted !== undefined && negotiate(accepted, true) === 'gzip'
  const { admission } = options
  const address = admission.clientOf(request)
  const admit = (requests: number): number => admission.admit(address, requests)
  const client = new WaitingClient('http', address, admit, gzip ? options.compression.thresholdBytes : undefined)
  let taken = 0
  response.once('close', () => {
    client.leave()
    admission.httpBytes.release(taken)
  })
  const take = (bytes: number): boolean => {
    const room = admission.httpBytes.take(bytes)
    if (room) taken += bytes
    return room
  }
  const body = await readBody(request, { bytes: options.maxBodyBytes, idleMs: options.bodyIdleMs, take })
  const answer = await options.dispatch(body, client)
  if (client.retryAfterMs !== undefined) {
    response.statusCode = 429
    response.setHeader('retry-after', Math.ceil(client.retryAfterMs / 1000))
  }
  response.setHeader('content-type', 'application/json')
  if (client.origin !== undefined) response.setHeader('x-hearth-trace', client.origin)
  if (answer === undefined) response.end()
  else if (answer instanceof Packed) await sendPacked(response, answer, options)
  else if (answer instanceof Uint8Array) await sendBytes(response, answer, accepted, compressionOf(client, options), options.writeMs)
  else await sendStream(response, answer, accepted, options.compression, options.stallMs)
}

async function handle(options: AppOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (options.readiness?.draining === true) response.setHeader('connection', 'close')
  if (!isAllowedHost(options.allowedHosts, request.headers.host)) {
    return refuse(request, response, 403, 'invalid host specified (evm.allowed_hosts)')
  }
  try {
    if (applyCors(options.corsOrigins, request, response)) {
      response.statusCode = 204
      response.end()
    } else if (request.method === 'POST') {
      await serveRpc(options, request, response)
    } else if (request.method === 'GET' && !declaredLength(request) && !request.headers['transfer-encoding'] && request.url === '/') {
      // Health checks of load balancers ask for this.
      response.end()
    } else {
      refuse(request, response, 405, 'method not allowed')
    }
  } catch (e) {
    if (e instanceof BodyStalled && !response.headersSent) return refuse(request, response, 408, e.message)
    if (e instanceof BodyRefused && !response.headersSent) return refuse(request, response, 429, e.message)
    if (e instanceof BodyTooLarge && !response.headersSent) return refuse(request, response, 413, e.message)
    if (!(e instanceof BodyAborted)) options.report(e)
    response.destroy()
  }
}

/** The app with its routes. */
export function createApp(options: AppOptions): Hono<{ Bindings: HttpBindings }> {
  const app = new Hono<{ Bindings: HttpBindings }>()
  app.all('/', async (c) => {
    await handle(options, c.env.incoming, c.env.outgoing)
    return RESPONSE_ALREADY_SENT
  })
  if (options.readiness !== undefined) addProbes(app, options.readiness)
  app.notFound((c) => c.text('not found: JSON-RPC is at /\n', 404))
  return app
}
