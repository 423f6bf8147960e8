// JSON-RPC over WebSocket: the same methods as over HTTP, one message a request.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type Body, bytesOf, isEmpty } from '../core/body.ts'
import { release } from '../core/chunks.ts'
import { limitUnsent } from '../core/socket.ts'
import type { DeniedNamespaces } from '../rpc/client.ts'
import type { Dispatch } from '../rpc/dispatch.ts'
import { noRoom, noRoomForClient } from '../rpc/errors.ts'
import { errorBody } from '../rpc/reply.ts'
import type { Received, RequestLimits } from '../rpc/scan.ts'
import type { Authentication } from './admission/auth.ts'
import type { SharedBudget } from './admission/client-budget.ts'
import type { Admission } from './admission/index.ts'
import { isAllowedOrigin, isSameHost } from './cors.ts'
import { isAllowedHost } from './hosts.ts'
import type { IdleClock } from './idle.ts'
import { Inbox, type InboxRules } from './inbox.ts'
import { GOODBYE_MS, UNSENT_BYTES_MAX, WIDE_TEXT_BYTES_MAX } from './limits.ts'
import { RequestContext } from './request-context.ts'
import { parts } from './split.ts'
import { Subscriptions } from './subscriptions.ts'
import { CHALLENGE, unauthorizedBody } from './unauthorized.ts'

/** Close code for a client that may come again (RFC 6455's registry). */
const TRY_AGAIN_LATER = 1013

/** Close code for a message that is too large. */
const TOO_LARGE = 1009

/** Close code for a client that breaks a rule of this node. */
const POLICY = 1008

/** What the WebSocket side needs to know. */
export interface WebSocketOptions {
  readonly dispatch: Dispatch
  readonly admission: Admission
  /** The authentication of clients when they connect; undefined for none. */
  readonly authentication?: Authentication | undefined
  /** Origins of web pages that may connect, lower case. */
  readonly origins: readonly string[]
  /** Allowed host names of the node, lower case. */
  readonly allowedHosts: readonly string[]
  /** A larger message closes the connection with 1009. */
  readonly maxPayloadBytes: number
  /** Messages of a connection that are served at the same time. */
  readonly maxInFlight: number
  /** Limits of requests. */
  readonly requestLimits: RequestLimits
  /** Ends messages that take too long to arrive. */
  readonly arrival: IdleClock
  /**
   * The interval of pings, in milliseconds; 0 for none. A client without an answer until the next
   * ping is cut off.
   */
  readonly pingMs: number
  /** Time for clients to say goodbye when the node stops, in milliseconds. */
  readonly stopMs: number
  /** A client that takes nothing of a whole answer for this long is cut off, in milliseconds. */
  readonly writeMs: number
  /** A client that takes nothing of a streamed answer for this long is cut off, in milliseconds. */
  readonly stallMs: number
  readonly report: (e: unknown) => void
  /** Called for every connection that opens. */
  readonly onConnect: () => void
}

/** Takes upgraded connections of any listener. */
export interface WebSocketEndpoint {
  /** To be called on a listener's `upgrade`. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
  /** Says goodbye to every client (1001) and takes no more. */
  readonly close: () => void
}

/** One connection. */
class Connection {
  private readonly socket: WebSocket
  private readonly raw: Duplex
  /** Whose the connection is. */
  private readonly address: string
  private readonly options: WebSocketOptions
  private readonly inbox: Inbox
  /** Fragments of one answer must not mix with another answer: sending is one after the other. */
  private sending: Promise<void> = Promise.resolve()

  /** The contexts of the messages in flight. */
  private readonly clients = new Set<RequestContext>()
  private readonly subscriptions: Subscriptions
  private readonly budget: SharedBudget
  /** What the client may not use. */
  private readonly denied: DeniedNamespaces | undefined

  constructor(socket: WebSocket, raw: Duplex, address: string, options: WebSocketOptions, denied: DeniedNamespaces | undefined) {
    this.socket = socket
    this.raw = raw
    this.denied = denied
    this.address = address
    this.options = options
    const broken = (e: unknown): void => {
      socket.terminate()
      options.report(e)
    }
    const { admission, maxInFlight, requestLimits, arrival } = options
    this.budget = admission.webSocketBytes.of(address)
    const rules: InboxRules = { budget: this.budget, roomMs: admission.webSocketWaitMs, maxInFlight, requestLimits, arrival }
    this.inbox = new Inbox(socket, raw, rules, {
      serve: (body) => this.answer(body).catch(broken),
      noRoom: () => void this.turnAway().catch(broken),
      tooWide: () => this.end(TOO_LARGE, `more than ${WIDE_TEXT_BYTES_MAX} bytes that are not all ASCII`),
      tooSlow: () => this.end(POLICY, 'message not complete within evm.read_timeout'),
    })
    const overflow = (missed: number): void => socket.close(TRY_AGAIN_LATER, `${missed} notifications missed`)
    this.subscriptions = new Subscriptions((body) => this.inTurn(body), broken, options.report, overflow)
    socket.on('close', () => {
      this.inbox.close()
      this.budget.leave()
      this.subscriptions.close()
      for (const client of this.clients) client.leave()
    })
    // A broken connection closes next; the error needs no report.
    socket.on('error', () => socket.terminate())
  }

  /** Ends the connection without waiting for long: its client may continue sending. */
  private end(code: number, reason: string): void {
    this.inbox.close()
    this.socket.close(code, reason)
    setTimeout(() => this.socket.terminate(), GOODBYE_MS).unref()
  }

  /** Rejects a message of a client for lack of memory, and ends the connection. */
  private async turnAway(): Promise<void> {
    await this.inTurn(errorBody('null', this.budget.isOverShare ? noRoomForClient() : noRoom()))
    this.end(TRY_AGAIN_LATER, 'server busy')
  }

  private async answer(received: Received): Promise<void> {
    const { admission } = this.options
    const openSubscriber = this.subscriptions.openSubscriber()
    const facts = { subscriber: openSubscriber, denied: this.denied }
    const client = new RequestContext('websocket', this.address, (requests) => admission.admit(this.address, requests), facts)
    this.clients.add(client)
    try {
      const { body } = await this.options.dispatch(received, client)
      if (!isEmpty(body)) await this.inTurn(body)
      openSubscriber.begin()
    } finally {
      this.clients.delete(client)
      // A batch may have begun more than was sent when its client said goodbye.
      client.leave()
    }
  }

  /** Sends an answer or a notification after those before it. */
  private async inTurn(body: Body): Promise<void> {
    const turn = this.sending.then(() => this.send(body))
    // A failed turn is reported by its own message and must not stop the next one from ending.
    this.sending = turn.catch(() => undefined)
    await turn
  }

  private async send(body: Body): Promise<void> {
    // WebSocket requests never enable gzip.
    if (body.kind === 'gzip') throw new TypeError('an answer in gzip has no place in a WebSocket message')
    if (body.kind !== 'stream') {
      await this.frames(bytesOf(body), true, this.options.writeMs)
      return
    }
    const { stream } = body
    limitUnsent(this.raw, UNSENT_BYTES_MAX)
    try {
      let chunk = await stream.next()
      while (chunk !== null) {
        const following = await stream.next()
        if (!(await this.frames(chunk, following === null, this.options.stallMs))) return
        release(chunk)
        chunk = following
      }
    } finally {
      stream.cancel()
    }
  }

  /**
   * Sends bytes as fragments, so that a slow client is distinguished from one that takes nothing;
   * false as for `frame`.
   */
  private async frames(bytes: Uint8Array, last: boolean, stallMs: number): Promise<boolean> {
    for (const [piece, end] of parts(bytes)) {
      if (!(await this.frame(piece, last && end, stallMs))) return false
    }
    return true
  }

  /**
   * Sends a frame and waits until it has been sent; false once the client is gone, or has taken
   * nothing for `stallMs` milliseconds.
   */
  private frame(bytes: Uint8Array, last: boolean, stallMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      if (this.socket.readyState !== this.socket.OPEN) return resolve(false)
      const timer = setTimeout(() => this.socket.terminate(), stallMs)
      this.socket.send(bytes, { binary: false, fin: last, compress: false }, (e) => {
        clearTimeout(timer)
        resolve(e == null)
      })
    })
  }
}

/**
 * Ends connections from whose client nothing comes between a ping and the next one. Behind requests
 * that wait to be read a pong does not arrive, so anything that was read counts; and no connection
 * counts that was not read when it was pinged, for it may be read only since a moment ago.
 */
function watch(server: WebSocketServer, pingMs: number): NodeJS.Timeout | undefined {
  if (pingMs === 0) return undefined
  /** Bytes that were read of a connection when it was pinged; absent where it was not read then. */
  const pinged = new WeakMap<WebSocket, number>()
  const streams = new WeakMap<WebSocket, Socket>()
  server.on('connection', (socket, request) => streams.set(socket, request.socket))
  const isSilent = (socket: WebSocket): boolean => !socket.isPaused && pinged.get(socket) === streams.get(socket)?.bytesRead
  const timer = setInterval(() => {
    for (const socket of server.clients) {
      if (isSilent(socket)) {
        // After a stall of this loop an answer may have come that is read behind the timers.
        setImmediate(() => isSilent(socket) && socket.terminate())
        continue
      }
      if (socket.isPaused) pinged.delete(socket)
      else pinged.set(socket, (streams.get(socket) as Socket).bytesRead)
      socket.ping()
    }
  }, pingMs)
  return timer.unref()
}

/** Refuses an upgrade, and ends its connection within `writeMs` milliseconds. */
function endUpgrade(socket: Duplex, writeMs: number, status: string, headers = '', body = ''): void {
  // After an upgrade no clock of node:http ends the connection.
  socket.once('finish', () => socket.destroy())
  setTimeout(() => socket.destroy(), writeMs).unref()
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\n${headers}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

/** Makes the endpoint that serves upgraded connections. */
export function createWebSocketEndpoint(options: WebSocketOptions): WebSocketEndpoint {
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: options.maxPayloadBytes,
    perMessageDeflate: false,
    clientTracking: true,
  })
  const timer = watch(server, options.pingMs)
  const accept = (request: IncomingMessage, socket: Duplex, head: Buffer, denied?: DeniedNamespaces): void =>
    server.handleUpgrade(request, socket, head, (client) => {
      server.emit('connection', client, request)
      options.onConnect()
      new Connection(client, request.socket, options.admission.clientOf(request), options, denied)
    })
  const reject = (socket: Duplex, ...answer: [status: string, headers?: string, body?: string]): void =>
    endUpgrade(socket, options.writeMs, ...answer)
  /** Accepts a client, or not, once it is known why it is refused; undefined if it is admitted. */
  const decide = (request: IncomingMessage, socket: Duplex, head: Buffer, why: string | undefined): void => {
    const namespaces = options.authentication?.namespaces
    if (why === undefined) accept(request, socket, head)
    else if (namespaces !== undefined) accept(request, socket, head, { namespaces, why })
    else {
      const headers = `www-authenticate: ${CHALLENGE}\r\ncontent-type: application/json\r\n`
      reject(socket, '401 Unauthorized', headers, unauthorizedBody(why))
    }
  }
  const mayConnect = ({ headers }: IncomingMessage): boolean =>
    isAllowedOrigin(options.origins, headers.origin) || isSameHost(headers.origin, headers.host)
  return {
    upgrade(request, socket, head) {
      socket.on('error', () => socket.destroy())
      if (request.url?.split('?')[0] !== '/') reject(socket, '404 Not Found')
      else if (!isAllowedHost(options.allowedHosts, request.headers.host)) reject(socket, '403 Forbidden')
      else if (!mayConnect(request)) reject(socket, '403 Forbidden', '', 'origin not allowed (evm.ws_origins)\n')
      else {
        const why = options.authentication?.refusal(request.headers.authorization)
        if (!(why instanceof Promise)) decide(request, socket, head, why)
        else
          why
            .then((refused) => decide(request, socket, head, refused))
            .catch((e: unknown) => {
              options.report(e)
              socket.destroy()
            })
      }
    },
    close() {
      clearInterval(timer)
      for (const socket of server.clients) socket.close(1001, 'the node is stopping')
      server.close()
      // A client that does not say goodbye must not hold the node.
      setTimeout(() => {
        for (const socket of server.clients) socket.terminate()
      }, options.stopMs).unref()
    },
  }
}
