// One connection in a lane: ordinary requests, one after the other, whose answers need no waiting. Everything else it meets makes it a
// connection of node:http, for good.
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { giveBack } from '../../core/chunks.ts'
import { type Answer, Packed } from '../../rpc/dispatch.ts'
import { TRACE_HEADER } from '../../rpc/headers.ts'
import { negotiate } from '../accept.ts'
import { type AppOptions, compressionOf, isGone, send } from '../app.ts'
import { JOINED_BYTES_MAX, joined } from '../respond.ts'
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

const isWhole = (body: Packed['body']): body is Uint8Array | string => typeof body === 'string' || body instanceof Uint8Array

/** Whether nothing is to be said beside the answer to a client. */
const isAlone = ({ retryAfterMs, waitedMs, warnings, redirectedTo, usedLegacy }: WaitingClient): boolean =>
  retryAfterMs === undefined && waitedMs === undefined && warnings === undefined && redirectedTo === undefined && !usedLegacy

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
    const client = new WaitingClient('http', address, (requests) => admission.admit(address, requests), head.gzipOver)
    try {
      const answer = options.dispatch(chunk.toString('utf8', head.bodyAt), client)
      if ((typeof answer === 'string' || answer instanceof Uint8Array) && this.isPlain(answer, head, client)) {
        admission.httpBytes.release(bytes)
        this.write(answer, client, '')
      } else if (answer instanceof Packed && isWhole(answer.body) && isAlone(client)) {
        admission.httpBytes.release(bytes)
        this.write(answer.body, client, IN_GZIP)
      } else this.answerSlowly(answer, head, client, bytes)
    } catch (e) {
      admission.httpBytes.release(bytes)
      options.report(e)
      this.socket.destroy()
    }
  }

  /** Whether an answer goes out as it is, with nothing said beside it. */
  private isPlain(answer: Uint8Array | string, { accepted }: Head, client: WaitingClient): boolean {
    if (!isAlone(client) || answer.length > PLAIN_BYTES_MAX) return false
    return negotiate(accepted, answer.length > compressionOf(client, this.rules.options).thresholdBytes) === 'identity'
  }

  /** Sends an answer; `encoding` is the line that says how it is encoded. */
  private write(answer: Uint8Array | string, { origin }: WaitingClient, encoding: string): void {
    const { socket, rules } = this
    const from = origin === undefined ? '' : `${TRACE_HEADER}: ${origin}\r\n`
    const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n${from}vary: accept-encoding\r\n${encoding}content-length: ${answer.length}`
    const start = head + tail.at(Date.now(), rules.idleMs)
    if (typeof answer === 'string' || answer.length <= JOINED_BYTES_MAX) {
      if (!socket.write(start + (typeof answer === 'string' ? answer : joined(answer)), 'latin1')) this.waitForRoom()
      return
    }
    socket.cork()
    socket.write(start, 'latin1')
    const room = socket.write(answer, () => giveBack(answer))
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
  private answerSlowly(answer: Promise<Answer> | Answer, head: Head, client: WaitingClient, bytes: number): void {
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
    const answered = (whole: Answer): void => {
      if (rules.idleMs > 0) response.setHeader('Keep-Alive', `timeout=${Math.floor(rules.idleMs / SECOND_MS)}`)
      void send(options, response, client, head.accepted, whole)?.catch(failed)
    }
    if (answer instanceof Promise) answer.then(answered).catch(failed)
    else answered(answer)
  }
}
