// One connection in a lane: ordinary requests, one after the other, whose answers need no waiting. Everything else it meets makes it a
// connection of node:http, for good.
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Body, isEmpty, isWhole, lengthOf, type WholeBody } from '../../core/body.ts'
import { giveBack } from '../../core/chunks.ts'
import type { Reply, ReplyHeaders } from '../../rpc/reply.ts'
import { negotiate } from '../accept.ts'
import { type AppOptions, isGone } from '../app.ts'
import { headersOf, statusOf } from '../reply-headers.ts'
import { gzipThreshold, sendReply, shortText } from '../respond.ts'
import { WaitingClient } from '../waiting.ts'
import type { Head, Heads } from './head.ts'

/** What all lanes of a listener share. */
export interface LaneRules {
  readonly options: AppOptions
  readonly heads: Heads
  /** How long a connection may be silent before its first request, in milliseconds. */
  readonly firstMs: number
  /** How long it may be idle between requests, in milliseconds. */
  readonly idleMs: number
  /** Hands a connection, with the bytes of it that were read, to node:http. */
  handOver(socket: Socket, read: readonly Buffer[]): void
  /** Told when a lane is no lane any more. */
  left(lane: Lane): void
}

/** Larger answers are left to the ordinary way, which sends them in parts. In bytes. */
const PLAIN_BYTES_MAX = 1024 * 1024

/** What says that an answer is in gzip. */
const IN_GZIP = 'content-encoding: gzip\r\n'

/** As node:http answers a client that says nothing. */
const SILENT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n'

const SECOND_MS = 1000

/** The end of a head, from its date on: made once a second. */
class Tail {
  private text = ''
  private until = 0

  at(now: number, idleMs: number): string {
    if (now >= this.until) {
      this.until = (Math.floor(now / SECOND_MS) + 1) * SECOND_MS
      const kept = idleMs === 0 ? '' : `Keep-Alive: timeout=${Math.floor(idleMs / SECOND_MS)}\r\n`
      this.text = `\r\nDate: ${new Date(now).toUTCString()}\r\nConnection: keep-alive\r\n${kept}\r\n`
    }
    return this.text
  }
}

const tail = new Tail()

/** The head of a reply of one piece, without its date. */
function headOf(headers: ReplyHeaders, encoding: string, length: number): string {
  let lines = ''
  for (const [name, value] of headersOf(headers)) lines += `${name}: ${value}\r\n`
  return `HTTP/1.1 200 OK\r\n${lines}vary: accept-encoding\r\n${encoding}content-length: ${length}`
}

/** A connection. */
export class Lane {
  private readonly socket: Socket
  private readonly rules: LaneRules
  /** Whether there was a request. */
  private used = false
  /** What came while an answer is under way. */
  private readonly waiting: Buffer[] = []
  private answering = false
  /** Whether an answer is with the socket that the client has not taken yet. */
  private sending = false
  /** The response of node:http by which an answer is sent. */
  private response: ServerResponse | undefined
  private readonly onData = (chunk: Buffer): void => this.take(chunk)
  private readonly onTimeout = (): void => this.timeOut()
  private readonly onError = (): void => {
    this.socket.destroy()
  }
  // As node:http: a client that sends no more waits for nothing.
  private readonly onEnd = (): void => {
    this.socket.end()
  }
  private readonly onClose = (): void => this.rules.left(this)

  constructor(socket: Socket, rules: LaneRules) {
    this.socket = socket
    this.rules = rules
    socket.setTimeout(rules.firstMs)
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
    // The socket's clock starts anew whenever the system has taken some of what waits.
    if (this.response !== undefined) {
      // A response cuts off its client by itself, as node:http lets it.
      this.response.emit('timeout')
      return
    }
    if (this.answering && !this.sending) return
    if (!this.used) this.socket.write(SILENT, 'latin1')
    this.socket.destroy()
  }

  /** Makes this a connection of node:http. */
  private leave(read: readonly Buffer[]): void {
    const { socket, rules } = this
    socket
      .off('data', this.onData)
      .off('timeout', this.onTimeout)
      .off('error', this.onError)
      .off('end', this.onEnd)
      .off('close', this.onClose)
    socket.setTimeout(0)
    rules.left(this)
    rules.handOver(socket, read)
  }

  private take(chunk: Buffer): void {
    if (this.answering) {
      // A client that does not wait for its answer: no more is read until that is out.
      this.waiting.push(chunk)
      this.socket.pause()
      return
    }
    const { options, heads } = this.rules
    const head = options.readiness?.draining === true ? undefined : heads.of(chunk)
    if (head === undefined || !options.admission.httpBytes.take(chunk.length - head.bodyAt)) {
      this.leave([chunk])
      return
    }
    if (!this.used) {
      this.used = true
      this.socket.setTimeout(this.rules.idleMs)
    }
    this.serve(head, chunk)
  }

  private serve(head: Head, chunk: Buffer): void {
    const { options } = this.rules
    const { admission } = options
    const bytes = chunk.length - head.bodyAt
    const address = admission.clientOf({ headers: head.headers, socket: this.socket })
    const { gzipOver } = head
    const client = new WaitingClient('http', address, (requests) => admission.admit(address, requests), { gzipOver })
    try {
      const reply = options.dispatch(chunk.toString('utf8', head.bodyAt), client)
      const body = reply instanceof Promise ? undefined : this.plain(reply, head)
      if (reply instanceof Promise || body === undefined) {
        this.answerSlowly(reply, head, client, bytes)
        return
      }
      admission.httpBytes.release(bytes)
      this.write(body, headOf(reply.headers, reply.body.kind === 'gzip' ? IN_GZIP : '', lengthOf(body)))
    } catch (e) {
      admission.httpBytes.release(bytes)
      options.report(e)
      this.socket.destroy()
    }
  }

  /** What goes out as it is in one piece; undefined where a reply needs more. */
  private plain({ body, headers }: Reply, { accepted }: Head): WholeBody | undefined {
    if (statusOf(headers) !== 200) return undefined
    if (body.kind === 'gzip') return body.member.kind === 'stream' ? undefined : body.member
    if (!isWhole(body) || isEmpty(body) || lengthOf(body) > PLAIN_BYTES_MAX) return undefined
    const isLong = lengthOf(body) > gzipThreshold(headers, this.rules.options.compression)
    return negotiate(accepted, isLong) === 'identity' ? body : undefined
  }

  /** Sends a reply in one piece. */
  private write(body: WholeBody, head: string): void {
    const { socket, rules } = this
    const start = head + tail.at(Date.now(), rules.idleMs)
    const text = shortText(body)
    if (text !== undefined) {
      if (!socket.write(start + text, 'latin1')) this.waitForRoom()
      return
    }
    const { bytes } = body as Extract<Body, { kind: 'bytes' }>
    socket.cork()
    socket.write(start, 'latin1')
    const room = socket.write(bytes, () => giveBack(bytes))
    socket.uncork()
    if (!room || socket.writableLength > 0) this.waitForRoom()
  }

  /** Reads no more until the client has taken what it was sent; one that takes nothing for too long is cut off. */
  private waitForRoom(): void {
    const { socket, rules } = this
    if (socket.writableLength === 0) return
    this.answering = true
    this.sending = true
    socket.setTimeout(rules.options.writeMs)
    socket.once('drain', () => {
      this.sending = false
      socket.setTimeout(rules.idleMs)
      this.answered()
    })
  }

  /** The answer is out: what came meanwhile is next. */
  private answered(): void {
    this.answering = false
    const [first, ...more] = this.waiting.splice(0)
    if (first === undefined) return
    if (more.length === 0) this.take(first)
    else this.leave([first, ...more])
    this.socket.resume()
  }

  /** Sends an answer that is waited for, or sent in parts, or in gzip: by a response of node:http. */
  private answerSlowly(reply: Promise<Reply> | Reply, head: Head, client: WaitingClient, bytes: number): void {
    const { socket, rules } = this
    const { options } = rules
    this.answering = true
    const request = { method: 'POST', url: '/', httpVersionMajor: 1, httpVersionMinor: 1, headers: head.headers, socket, complete: true }
    const response: ServerResponse = new http.ServerResponse(request as unknown as IncomingMessage)
    const drain = (): void => void response.emit('drain')
    const failed = (e: unknown): void => {
      if (!isGone(response, e)) options.report(e)
      response.destroy()
    }
    response.once('close', () => {
      client.leave()
      options.admission.httpBytes.release(bytes)
    })
    this.response = response
    response.once('finish', () => {
      this.response = undefined
      socket.setTimeout(rules.idleMs)
      socket.off('drain', drain)
      response.detachSocket(socket)
      response.emit('close')
      if (!response.shouldKeepAlive) socket.destroySoon()
      else if (!socket.destroyed && !socket.writableEnded) this.answered()
    })
    socket.on('drain', drain)
    response.assignSocket(socket)
    const { compression, writeMs, stallMs } = options
    const answered = (reply: Reply): void => {
      if (rules.idleMs > 0) response.setHeader('Keep-Alive', `timeout=${Math.floor(rules.idleMs / SECOND_MS)}`)
      void sendReply(response, reply, { accept: head.accepted, compression, writeMs, stallMs })?.catch(failed)
    }
    if (reply instanceof Promise) reply.then(answered).catch(failed)
    else answered(reply)
  }
}
