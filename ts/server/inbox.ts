// The input of a WebSocket connection: bytes are counted as they arrive, complete messages wait for
// their turn, and a client that sends more than is served is not read for a while.
import type { Duplex } from 'node:stream'
import { setImmediate as immediate } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { free } from '../core/free.ts'
import { ByteScanner, type Received, type RequestLimits } from '../rpc/scan.ts'
import type { SharedBudget } from './admission/client-budget.ts'
import { holdsBytes, takeMessage } from './body.ts'
import { FrameCounter } from './frames.ts'
import type { IdleClock, Waiter } from './idle.ts'
import { MESSAGE_COST, MESSAGES_AT_ONCE_MAX, WAITING_MESSAGES_MAX } from './limits.ts'
import { Queue } from './queue.ts'

/** Rules that all connections of an endpoint share. */
export interface InboxRules {
  /** Where the bytes of messages are counted, from their first frame until they are answered. */
  readonly budget: SharedBudget
  /** How long a connection waits for room there, in milliseconds. */
  readonly roomMs: number
  /** Messages of a connection that are served at the same time. */
  readonly maxInFlight: number
  /** Limits of requests, by which a large message may be refused before it is decoded. */
  readonly requestLimits: RequestLimits
  /** Ends messages that take too long to arrive. */
  readonly arrival: IdleClock
}

/** What an inbox calls. */
export interface InboxCalls {
  /** Serves a message; never rejects. */
  readonly serve: (body: Received) => Promise<void>
  /** There was no room for a message in time. */
  readonly noRoom: () => void
  /** A message took too long to arrive. */
  readonly tooSlow: () => void
  /** A message has characters beyond ASCII, and more than `WIDE_TEXT_BYTES_MAX` bytes. */
  readonly tooWide: () => void
}

/** Messages of more bytes are decoded in turns: receiving them took long already. */
const DECODED_AT_ONCE_MAX = 256 * 1024

/** A complete message. */
interface Message {
  /**
   * Its text, or the bytes of a large one. A small one is decoded at once, because its bytes would
   * hold the memory of a whole read of the socket.
   */
  readonly body: string | Buffer
  readonly bytes: number
}

/**
 * A large message, which is scanned in turns with other work, and is refused by its beginning where
 * it can be. Undefined where it is too large for its characters. The memory of the bytes is given
 * back.
 */
async function receivedOf(bytes: Buffer, limits: RequestLimits): Promise<Received | undefined> {
  const scanner = new ByteScanner(limits)
  let message: Received | undefined
  try {
    for (let end = 0; end < bytes.length; ) {
      await immediate()
      end = Math.min(end + DECODED_AT_ONCE_MAX, bytes.length)
      const refused = scanner.look(bytes.subarray(0, end), end === bytes.length)
      if (refused !== undefined) return refused
    }
    await immediate()
    message = takeMessage(bytes, scanner)
    return message
  } finally {
    if (!holdsBytes(message)) free(bytes)
  }
}

/** Receives the messages of one connection. */
export class Inbox {
  private readonly socket: WebSocket
  private readonly rules: InboxRules
  private readonly calls: InboxCalls
  private readonly frames = new FrameCounter()
  /** Messages that wait to be served: up to a bound, plus one read of the socket or one message. */
  private readonly waiting = new Queue<Message>()
  /** Their size in bytes, with a cost for each. */
  private waitingSize = 0
  private inFlight = 0
  /** Bytes that are taken from the budget: of messages in flight, and of all others. */
  private bytesInFlight = 0
  private bytesHeld = 0
  /** Bytes that have come and that the budget has no room for yet. */
  private lacking = 0
  /** How long the message that arrives has waited for room, in milliseconds. */
  private waitedMs = 0
  /** Since when the socket is not read; undefined where it is. */
  private pausedAt: number | undefined
  private readonly closing = new AbortController()
  /** Messages that were served since other connections had a turn. */
  private handledInTurn = 0
  private turn: NodeJS.Immediate | undefined
  private readonly arriving: Waiter

  constructor(socket: WebSocket, raw: Duplex, rules: InboxRules, calls: InboxCalls) {
    this.socket = socket
    this.rules = rules
    this.calls = calls
    this.arriving = { lastMs: 0, stalled: () => this.isClosed || calls.tooSlow() }
    // Before the receiver's listener: the bytes of a message are counted when it is complete.
    raw.prependListener('data', (chunk: Buffer) => this.onBytes(chunk))
    socket.on('message', (data: Buffer) => this.onMessage(data))
  }

  /** Serves and keeps nothing more. What is in flight is given back when it is done. */
  close(): void {
    if (this.isClosed) return
    this.closing.abort()
    clearImmediate(this.turn)
    this.rules.arrival.end(this.arriving)
    this.waiting.clear()
    this.rules.budget.release(this.bytesHeld)
    this.bytesHeld = 0
  }

  private get isClosed(): boolean {
    return this.closing.signal.aborted
  }

  private onBytes(chunk: Buffer): void {
    if (this.isClosed) return
    const { messages } = this.frames
    const wasUnfinished = this.frames.unfinished
    const bytes = this.frames.feed(chunk)
    const isNext = messages !== this.frames.messages
    if (isNext) this.waitedMs = 0
    this.watchArrival(!wasUnfinished || isNext)
    if (bytes === 0) return
    if (this.lacking === 0 && this.rules.budget.take(bytes)) this.bytesHeld += bytes
    else {
      this.lacking += bytes
      if (this.lacking === bytes) void this.waitForRoom()
    }
  }

  /** Keeps the time of the message that is arriving; `begun` is true for its first bytes. */
  private watchArrival(begun: boolean): void {
    const { arrival } = this.rules
    if (!this.frames.unfinished) arrival.end(this.arriving)
    else if (begun) {
      this.arriving.lastMs = performance.now()
      arrival.begin(this.arriving)
    }
  }

  private async waitForRoom(): Promise<void> {
    const { budget, roomMs } = this.rules
    this.adjustReading()
    while (this.lacking > 0) {
      const bytes = this.lacking
      const began = performance.now()
      // A message waits for its room so long in all, however little of it comes at a time.
      const isAdmitted = await budget.takeWithin(bytes, Math.max(0, roomMs - this.waitedMs), this.closing.signal)
      this.waitedMs += performance.now() - began
      if (this.isClosed) {
        if (isAdmitted) budget.release(bytes)
        return
      }
      if (!isAdmitted) {
        this.close()
        this.calls.noRoom()
        return
      }
      this.lacking -= bytes
      this.bytesHeld += bytes
    }
    this.pump()
  }

  private onMessage(data: Buffer): void {
    if (this.isClosed) return
    const bytes = data.length
    this.waiting.push({ body: bytes > DECODED_AT_ONCE_MAX ? data : data.toString(), bytes })
    this.waitingSize += bytes + MESSAGE_COST
    this.pump()
  }

  private pump(): void {
    if (this.isClosed) return
    while (this.inFlight < this.rules.maxInFlight && this.lacking === 0 && this.waiting.length > 0) {
      if (this.handledInTurn === MESSAGES_AT_ONCE_MAX) {
        this.turn ??= setImmediate(() => {
          this.turn = undefined
          this.handledInTurn = 0
          this.pump()
        })
        break
      }
      this.handledInTurn++
      void this.serve(this.waiting.shift() as Message)
    }
    this.adjustReading()
  }

  private async serve({ body, bytes }: Message): Promise<void> {
    this.waitingSize -= bytes + MESSAGE_COST
    this.inFlight++
    this.bytesHeld -= bytes
    this.bytesInFlight += bytes
    const received = typeof body === 'string' ? body : await receivedOf(body, this.rules.requestLimits)
    // The client may have disconnected while its message was scanned.
    if (!this.isClosed) await (received === undefined ? this.calls.tooWide() : this.calls.serve(received))
    this.inFlight--
    this.bytesInFlight -= bytes
    this.rules.budget.release(bytes)
    this.pump()
  }

  /**
   * Reading continues for a while after serving stopped: a socket that is not read does not show
   * that its client has left.
   */
  private adjustReading(): void {
    const { socket } = this
    const isFull = this.waitingSize > WAITING_MESSAGES_MAX || this.lacking > 0
    if (isFull === socket.isPaused) return
    if (isFull) {
      socket.pause()
      this.pausedAt = performance.now()
      this.rules.arrival.end(this.arriving)
      return
    }
    socket.resume()
    // The time in which the node did not read is not the client's.
    this.arriving.lastMs += performance.now() - (this.pausedAt ?? performance.now())
    this.pausedAt = undefined
    if (this.frames.unfinished) this.rules.arrival.begin(this.arriving)
  }
}
