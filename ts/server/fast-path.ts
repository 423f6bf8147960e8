// The fast path of JSON-RPC over HTTP: ordinary requests are read from the socket and answered on
// it. node:http makes four objects, two streams and a dozen events for a request, which take longer
// than most short reads (docs/decisions/http-fast-path.md has the measurement).
//
// The fast path takes a request only if its whole text came in one piece and each of its headers is
// ordinary. With anything else the connection becomes node:http's, with every byte that was read,
// so that all refusals and unusual cases are implemented once. A reply that is sent in parts is
// sent by node:http too: it parses the request again, and the app finds the reply (`Dispatched`).
import http from 'node:http'
import type { Socket } from 'node:net'
import { bytesOf, isEmpty, isWhole, lengthOf, type SharedAnswer, type WholeBody } from '../core/body.ts'
import { release } from '../core/chunks.ts'
import { sendNow } from '../core/socket.ts'
import { REDIRECTED_HEADER } from '../rpc/redirect.ts'
import type { Reply, ReplyHeaders } from '../rpc/reply.ts'
import { FORWARDED_HEADER } from '../rpc/submission.ts'
import { negotiate } from './accept.ts'
import type { AppOptions } from './app.ts'
import { keepAliveValue } from './connections.ts'
import { gzip } from './gzip.ts'
import { isAllowedHost } from './hosts.ts'
import { isJson } from './media.ts'
import { headersOf, statusOf } from './reply-headers.ts'
import { RequestContext } from './request-context.ts'
import { gzipThreshold, shortText, storedGzipOver } from './respond.ts'

/** Clocks of a connection, in milliseconds. */
export interface FastPathClocks {
  /** How long it may be silent before its first request. */
  readonly firstMs: number
  /** How long it may be idle between requests. */
  readonly idleMs: number
}

/** A reply that node:http sends: its request was dispatched by the fast path. */
export interface Dispatched {
  readonly reply: Reply
  /** Must be called when the response was sent or the client has disconnected. */
  readonly end: () => void
}

/** Longest head of a request, in bytes. */
const HEAD_BYTES_MAX = 4096

/**
 * HeadCache that are remembered: a client sends the same ones again, except for the length of the
 * body.
 */
const REMEMBERED_MAX = 1024

/** Larger replies are sent in parts, by node:http. In bytes. */
const PIECE_BYTES_MAX = 1024 * 1024

const SECOND_MS = 1000

const REQUEST_LINE = 'POST / HTTP/1.1'
const HEAD_END = '\r\n\r\n'

/** What node:http sends to a client that sends nothing. */
const SILENT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

/** A name and a value without anything that needs a second look (RFC 9110, section 5.6.2). */
const LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)[ \t]*$/

/**
 * Headers that change how a message or its connection continues, or that only node:http's way
 * reads.
 */
const UNUSUAL: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'te',
  'trailer',
  'expect',
  'content-encoding',
  'upgrade',
  'keep-alive',
  'proxy-connection',
  'http2-settings',
  'origin',
  'access-control-request-method',
])

/** The head of a request, if it is ordinary. */
interface Head {
  /** Where the body begins, in bytes. */
  readonly bodyAt: number
  /** Where it ends. */
  readonly end: number
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly accepted: string | undefined
  /** Answers of more bytes are wanted in gzip; undefined: none is. */
  readonly gzipOver: number | undefined
  /** Whether another node sent it on: it is answered here. */
  readonly forwarded: boolean
  /** Whether the connection ends with the answer (RFC 9112, section 9.6). */
  readonly closes: boolean
}

/** The headers of a head, by name in lower case; undefined if it is not ordinary. */
function ordinaryHeaders(head: string): Record<string, string> | undefined {
  const [first, ...lines] = head.split('\r\n')
  if (first !== REQUEST_LINE) return undefined
  const headers: Record<string, string> = Object.create(null)
  for (const line of lines) {
    const found = LINE.exec(line)
    const name = found?.[1]?.toLowerCase()
    const value = found?.[2]
    if (name === undefined || value === undefined || name in headers || UNUSUAL.has(name)) return undefined
    if (name === 'connection' && !/^(?:keep-alive|close)$/i.test(value)) return undefined
    headers[name] = value
  }
  return headers
}

/**
 * Reads heads. What it finds in one depends only on its bytes and on settings, so it is remembered.
 */
class HeadCache {
  private readonly options: AppOptions
  private readonly known = new Map<string, Head | undefined>()

  constructor(options: AppOptions) {
    this.options = options
  }

  /**
   * The head of an ordinary request that is complete in one chunk of bytes; undefined for any
   * other.
   */
  of(chunk: Buffer): Head | undefined {
    const at = chunk.indexOf(HEAD_END, 0, 'latin1')
    if (at < 0 || at > HEAD_BYTES_MAX) return undefined
    const text = chunk.toString('latin1', 0, at)
    let head = this.known.get(text)
    if (head === undefined && !this.known.has(text)) {
      head = this.read(text)
      if (this.known.size >= REMEMBERED_MAX) this.known.clear()
      this.known.set(text, head)
    }
    return head?.end === chunk.length ? head : undefined
  }

  private read(text: string): Head | undefined {
    const { allowedHosts, maxBodyBytes, compression } = this.options
    const headers = ordinaryHeaders(text)
    if (headers === undefined) return undefined
    const { host, 'content-length': length = '', 'content-type': type, 'accept-encoding': accepted } = headers
    if (host === undefined || !isAllowedHost(allowedHosts, host) || !isJson(type)) return undefined
    if (!/^[0-9]{1,15}$/.test(length) || Number(length) > maxBodyBytes) return undefined
    const bodyAt = text.length + HEAD_END.length
    const gzipOver = storedGzipOver(accepted, compression)
    const forwarded = FORWARDED_HEADER in headers || REDIRECTED_HEADER in headers
    const closes = headers.connection?.toLowerCase() === 'close'
    return { bodyAt, end: bodyAt + Number(length), headers, accepted, gzipOver, forwarded, closes }
  }
}

/** The status line and the headers of a reply, up to those of its encoding. */
function linesOf(headers: ReplyHeaders): string {
  const status = statusOf(headers)
  let lines = `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n`
  for (const [name, value] of headersOf(headers)) lines += `${name}: ${value}\r\n`
  return `${lines}vary: accept-encoding\r\n`
}

const ORDINARY = linesOf({})
const BAKED = linesOf({ origin: 'baked' })

/** As `linesOf`; most replies have one of two. */
function startOf(headers: ReplyHeaders): string {
  const { isUnauthorized, origin, redirectedTo, retryAfterMs, usedLegacy, verified, waitedMs, warnings } = headers
  const isNamed = redirectedTo !== undefined || verified !== undefined
  const isCommon = waitedMs === undefined && retryAfterMs === undefined && warnings === undefined && !isNamed && !usedLegacy
  if (!isCommon || isUnauthorized === true) return linesOf(headers)
  return origin === undefined ? ORDINARY : origin === 'baked' ? BAKED : linesOf(headers)
}

/** The end of a head, from its date on: made once a second. */
class DateHeader {
  private date = ''
  private text = ''
  private until = 0
  private readonly kept: string

  constructor(idleMs: number) {
    this.kept = `Keep-Alive: ${keepAliveValue(idleMs)}\r\n`
  }

  /** `closes`: whether the connection ends with the answer. */
  at(now: number, closes: boolean): string {
    if (now >= this.until) {
      this.until = (Math.floor(now / SECOND_MS) + 1) * SECOND_MS
      this.date = `\r\nDate: ${new Date(now).toUTCString()}\r\n`
      this.text = `${this.date}Connection: keep-alive\r\n${this.kept}\r\n`
    }
    return closes ? `${this.date}Connection: close\r\n\r\n` : this.text
  }
}

/** The fast path of a listener. */
export class FastPath {
  readonly options: AppOptions
  readonly clocks: FastPathClocks
  readonly heads: HeadCache
  readonly dateHeader: DateHeader
  private readonly server: http.Server
  private readonly connections = new Set<FastConnection>()
  private readonly handedOver = new WeakSet<Socket>()

  /** Takes the connections of a server, before node:http has them. */
  constructor(server: http.Server, options: AppOptions, clocks: FastPathClocks) {
    this.server = server
    this.options = options
    this.clocks = clocks
    this.heads = new HeadCache(options)
    this.dateHeader = new DateHeader(clocks.idleMs)
    const ordinary = server.listeners('connection') as ((socket: Socket) => void)[]
    server.removeAllListeners('connection')
    server.on('connection', (socket) => {
      if (this.handedOver.has(socket)) for (const listener of ordinary) listener.call(server, socket)
      else this.connections.add(new FastConnection(socket, this))
    })
  }

  /** Hands a connection to node:http, with the bytes of it that were read. */
  handOver(connection: FastConnection, socket: Socket, read: readonly Buffer[]): void {
    this.left(connection)
    this.handedOver.add(socket)
    socket.pause()
    socket.unshift(read.length === 1 ? (read[0] as Buffer) : Buffer.concat(read))
    this.server.emit('connection', socket)
    socket.resume()
  }

  /** A connection is no longer one of the fast path. */
  left(connection: FastConnection): void {
    this.connections.delete(connection)
  }

  /** Ends the connections without a request under way. */
  closeIdle(): void {
    for (const connection of this.connections) if (connection.idle) connection.destroy()
  }

  /** Ends all connections. */
  closeAll(): void {
    for (const connection of this.connections) connection.destroy()
  }
}

/** One connection: requests one after the other. */
class FastConnection {
  private readonly socket: Socket
  private readonly path: FastPath
  /** Whether there was a request. */
  private used = false
  /** What came while an answer is under way. */
  private readonly waiting: Buffer[] = []
  private answering = false
  /** Whose the request under way is. */
  private address = ''
  /** Whether an answer is with the socket that the client has not taken yet. */
  private sending = false
  /** The client of the response that is being computed. */
  private client: RequestContext | undefined
  private readonly onData = (chunk: Buffer): void => this.take(chunk)
  private readonly onTimeout = (): void => this.timeOut()
  /** Counts requests of the client of the request under way. */
  private readonly admit = (requests: number): number => this.path.options.admission.admit(this.address, requests)
  private readonly onError = (): void => {
    this.socket.destroy()
  }
  // As node:http: a client that sends no more waits for nothing.
  private readonly onEnd = (): void => {
    this.socket.end()
  }
  private readonly onClose = (): void => {
    this.path.left(this)
    this.client?.leave()
  }

  constructor(socket: Socket, path: FastPath) {
    this.socket = socket
    this.path = path
    socket.setTimeout(path.clocks.firstMs)
    socket.on('data', this.onData).on('timeout', this.onTimeout).on('error', this.onError).on('end', this.onEnd).on('close', this.onClose)
  }

  /** Whether no request is under way. */
  get idle(): boolean {
    return !this.answering
  }

  /** Ends the connection. */
  destroy(): void {
    this.socket.destroy()
  }

  private timeOut(): void {
    // The socket's clock restarts whenever the system has taken some of the waiting bytes.
    if (this.answering && !this.sending) return
    const { socket } = this
    if (this.sending || !this.used) {
      if (!this.used) socket.write(SILENT, 'latin1')
      socket.destroy()
      return
    }
    // After a stall of this loop a request may have come that is read behind the timers.
    const { bytesRead } = socket
    setImmediate(() => {
      if (socket.bytesRead === bytesRead) socket.destroy()
    })
  }

  /** Makes this a connection of node:http. */
  private leave(read: readonly Buffer[]): void {
    const { socket, path } = this
    socket
      .off('data', this.onData)
      .off('timeout', this.onTimeout)
      .off('error', this.onError)
      .off('end', this.onEnd)
      .off('close', this.onClose)
    socket.setTimeout(0)
    path.handOver(this, socket, read)
  }

  private take(chunk: Buffer): void {
    if (this.answering) {
      // A client that does not wait for its answer: no more is read until that is out.
      this.waiting.push(chunk)
      this.socket.pause()
      return
    }
    const { options, heads, clocks } = this.path
    const head = options.readiness?.draining === true ? undefined : heads.of(chunk)
    if (head === undefined || !options.admission.httpBytes.take(chunk.length - head.bodyAt)) {
      this.leave([chunk])
      return
    }
    const address = options.admission.clientOf({ headers: head.headers, socket: this.socket })
    // A client's new connections do not hold up those that it has used before.
    const line = this.used ? address : `${address} first`
    if (!this.used) {
      this.used = true
      this.socket.setTimeout(clocks.idleMs)
    }
    this.answering = true
    options.turns.run(line, () => {
      this.answering = false
      if (this.socket.destroyed) return options.admission.httpBytes.release(chunk.length - head.bodyAt)
      this.serve(head, chunk, address)
      // What came while the request waited for its turn.
      if (!this.answering && this.waiting.length > 0) this.answered()
    })
  }

  private serve(head: Head, chunk: Buffer, address: string): void {
    const { admission, dispatch } = this.path.options
    this.address = address
    const client = new RequestContext('http', address, this.admit, head)
    try {
      const reply = dispatch(chunk.toString('utf8', head.bodyAt), client)
      const body = reply instanceof Promise ? undefined : this.piece(reply, head)
      if (reply instanceof Promise || body === undefined) {
        this.answerLater(reply, head, chunk, client).catch((e) => this.failed(e))
        return
      }
      admission.httpBytes.release(chunk.length - head.bodyAt)
      this.write(body, startOf(reply.headers), reply.body.kind === 'gzip', head.closes)
    } catch (e) {
      admission.httpBytes.release(chunk.length - head.bodyAt)
      this.failed(e)
    }
  }

  private failed(e: unknown): void {
    this.path.options.report(e)
    this.socket.destroy()
  }

  /** What of a reply goes out in one piece as it is; undefined if it is more work. */
  private piece({ body, headers }: Reply, { accepted }: Head): WholeBody | undefined {
    if (body.kind === 'gzip') return body.member.kind === 'stream' ? undefined : body.member
    if (!isWhole(body) || isEmpty(body) || lengthOf(body) > PIECE_BYTES_MAX) return undefined
    const isLong = lengthOf(body) > gzipThreshold(headers, this.path.options.compression)
    return negotiate(accepted, isLong) === 'identity' ? body : undefined
  }

  /** Sends a reply that is waited for, is compressed, or is sent in parts. */
  private async answerLater(coming: Promise<Reply> | Reply, head: Head, chunk: Buffer, client: RequestContext): Promise<void> {
    const { socket, path } = this
    const { admission, compression } = path.options
    this.answering = true
    this.client = client
    const end = (): void => {
      client.leave()
      admission.httpBytes.release(chunk.length - head.bodyAt)
    }
    let isHandedOver = false
    try {
      const reply = await coming
      // Answers that come at once do not hold up what the client sends meanwhile.
      const turn = path.options.turns.room(`${client.address} answers`)
      if (turn !== undefined) await turn
      if (socket.destroyed) return cancel(reply)
      const { body, headers } = reply
      const piece = this.piece(reply, head)
      if (piece !== undefined) {
        this.write(piece, startOf(headers), body.kind === 'gzip', head.closes)
      } else if (isWhole(body) && !isEmpty(body) && lengthOf(body) <= PIECE_BYTES_MAX) {
        const plain = bytesOf(body)
        const bytes = await gzip(plain, { level: compression.level })
        release(plain)
        if (!socket.destroyed) this.write({ kind: 'bytes', bytes }, startOf(headers), true, head.closes)
      } else {
        isHandedOver = true
        const { dispatched } = path.options
        dispatched.set(socket, { reply, end })
        // A client that has ended its side is closing: node:http may never see its request again.
        socket.once('close', () => {
          if (!dispatched.delete(socket)) return
          cancel(reply)
          end()
        })
        this.leave([chunk, ...this.waiting.splice(0)])
      }
    } finally {
      if (!isHandedOver) {
        end()
        this.client = undefined
        if (!this.sending) this.answered()
      }
    }
  }

  /** Sends a reply in one piece; `closes`: the last one of its connection. */
  private write(body: WholeBody, start: string, isGzip: boolean, closes: boolean): void {
    const { socket, path } = this
    const head = `${start}${isGzip ? 'content-encoding: gzip\r\n' : ''}content-length: ${lengthOf(body)}${path.dateHeader.at(Date.now(), closes)}`
    const text = shortText(body)
    if (text !== undefined) {
      socket.write(head + text, 'latin1')
      if (closes) this.finish()
      else this.waitForRoom()
      return
    }
    if (body.kind === 'shared') this.writeShared(Buffer.from(head, 'latin1'), body.answer)
    else {
      const bytes = bytesOf(body)
      socket.cork()
      socket.write(head, 'latin1')
      socket.write(bytes, () => release(bytes))
      socket.uncork()
    }
    if (closes) this.finish()
    else this.waitForRoom()
  }

  /** Sends a reply from the core's memory; what the system does not take at once is copied. */
  private writeShared(head: Buffer, answer: SharedAnswer): void {
    const { socket } = this
    const sent = sendNow(socket, head, answer)
    const from = Math.max(0, sent - head.length)
    if (from === answer.length) return
    const rest = answer.copy(from)
    answer.release()
    socket.cork()
    if (sent < head.length) socket.write(head.subarray(sent))
    socket.write(rest, () => release(rest))
    socket.uncork()
  }

  /**
   * Ends the connection once the client has taken its answer. What it sends after that is not
   * read.
   */
  private finish(): void {
    const { socket, path } = this
    this.answering = true
    this.sending = true
    socket.setTimeout(path.options.writeMs)
    socket.destroySoon()
  }

  /**
   * Reads no more until the client has taken its answer; a client that takes nothing for too long
   * is cut off.
   */
  private waitForRoom(): void {
    const { socket, path } = this
    if (socket.writableLength === 0) return
    this.answering = true
    this.sending = true
    socket.setTimeout(path.options.writeMs)
    // An empty write, since `drain` follows only a write beyond the limit of the stream.
    socket.write('', (failed) => {
      if (failed) return
      this.sending = false
      socket.setTimeout(path.clocks.idleMs)
      this.answered()
    })
  }

  /** The answer is out: what came meanwhile is next. */
  private answered(): void {
    this.answering = false
    const [first, ...more] = this.waiting.splice(0)
    if (first === undefined || this.socket.destroyed) return
    if (more.length === 0) this.take(first)
    else this.leave([first, ...more])
    this.socket.resume()
  }
}

/** Ends the work behind a reply that has no client any more, and the use of its memory. */
function cancel({ body }: Reply): void {
  const bytes = body.kind === 'gzip' ? body.member : body
  if (bytes.kind === 'stream') bytes.stream.cancel()
  else if (bytes.kind === 'shared') bytes.answer.release()
}
