// Limits of a listener's connections.
import http from 'node:http'
import type { Server, Socket } from 'node:net'
import type { Settings } from '../config/index.ts'
import { Shares } from '../rpc/shares.ts'
import type { Admission } from './admission/index.ts'
import { TIMEOUT_CHECK_MS_MAX, TIMEOUT_CHECKS } from './limits.ts'

/** Node's own clocks of a connection. They are looked at often enough to be kept within a tenth. */
export function timeouts(settings: Settings): http.ServerOptions & { keepAliveTimeout: number } {
  const requestTimeout = settings['evm.read_timeout']
  const headersTimeout = Math.min(requestTimeout, settings['evm.read_header_timeout'])
  const connectionsCheckingInterval = Math.min(TIMEOUT_CHECK_MS_MAX, headersTimeout / TIMEOUT_CHECKS)
  return { requestTimeout, headersTimeout, connectionsCheckingInterval, keepAliveTimeout: settings['evm.idle_timeout'] }
}

/**
 * Announced part of the idle time of a connection. A client may use a connection until then by its
 * own clock, which is late on a busy machine; a request that meets a connection just being closed
 * is lost, and clients do not send a POST again (RFC 9112, section 9.3.1).
 */
const ANNOUNCED_SHARE = 0.5

const MS_PER_SECOND = 1000

/** The value of the header `Keep-Alive` where idle connections are closed after `idleMs` ms. */
export const keepAliveValue = (idleMs: number): string => `timeout=${Math.max(1, Math.floor((idleMs * ANNOUNCED_SHARE) / MS_PER_SECOND))}`

/** Responses of each connection that wait for those before them. */
const queued = new WeakMap<Socket, Set<http.ServerResponse>>()

/**
 * Closes a response that waits for those before it with its connection. node:http closes only the
 * one that is sent, and what the others hold would never be given back.
 */
function closeWith(socket: Socket, response: http.ServerResponse): void {
  const known = queued.get(socket)
  const waiting = known ?? new Set<http.ServerResponse>()
  waiting.add(response)
  response.once('socket', () => waiting.delete(response))
  if (known !== undefined) return
  queued.set(socket, waiting)
  socket.once('close', () => {
    for (const one of waiting) one.destroy().emit('close')
  })
}

/** Responses under way of each server. */
const underWay = new WeakMap<http.Server, Set<http.ServerResponse>>()

/**
 * Whether a response was given to the network that has not taken all of it: its connection is no
 * idle one, though node:http counts it as such.
 */
export const isSending = (server: http.Server): boolean =>
  [...(underWay.get(server) ?? [])].some((response) => response.writableEnded && !response.writableFinished && !response.destroyed)

/**
 * A server whose responses announce less than its `keepAliveTimeout`; node:http's own header names
 * the exact time.
 */
export function createServer(options: http.ServerOptions & { keepAliveTimeout: number }, listener: http.RequestListener): http.Server {
  const value = keepAliveValue(options.keepAliveTimeout)
  const server = http.createServer(options, listener)
  const responses = new Set<http.ServerResponse>()
  underWay.set(server, responses)
  return server.prependListener('request', (request: http.IncomingMessage, response: http.ServerResponse) => {
    responses.add(response)
    response.once('close', () => responses.delete(response))
    if (response.socket === null) closeWith(request.socket, response)
    if (response.shouldKeepAlive) response.setHeader('keep-alive', value)
  })
}

/** Ends the connection of a response with that response. */
export function closeAfter(response: http.ServerResponse): void {
  response.setHeader('connection', 'close').removeHeader('keep-alive')
}

/**
 * Bounds the connections of a listener, and the share of each client. To be called once all other
 * handlers of connections are installed.
 */
export function shareConnections(server: Server, settings: Settings, admission: Admission): void {
  server.maxConnections = settings['evm.max_open_connections']
  const shares = new Shares(settings['evm.max_open_connections'], settings['evm.max_share_per_client'])
  if (shares.most === Number.POSITIVE_INFINITY) return
  const ordinary = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection')
  // The fast path emits a connection again that it hands over.
  const counted = new WeakSet<Socket>()
  server.on('connection', (socket: Socket) => {
    if (counted.has(socket)) {
      for (const listener of ordinary) listener.call(server, socket)
      return
    }
    counted.add(socket)
    const owner = admission.ownerOf(socket)
    if (!shares.take(owner)) {
      socket.destroy()
      return
    }
    socket.once('close', () => shares.release(owner))
    for (const listener of ordinary) listener.call(server, socket)
  })
}
