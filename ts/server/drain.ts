// Refused bodies: when each is answered, and what is left of it. The rest is read and thrown away
// slowly: a client that is cut off while it sends may never see its answer, and reading at full
// speed is the work that the refusal spares.
import type { EventEmitter } from 'node:events'
import type { IncomingMessage } from 'node:http'

/** Time between two turns, in milliseconds. */
const TURN_MS = 10

/**
 * Bytes that one body gets to send in its turn, about one read of a socket: all bodies together
 * pass at 6 MiB a second.
 */
const TURN_BYTES = 64 * 1024

/**
 * Bodies whose rest is being read. Each holds a connection and some mebibytes in the kernel: beyond
 * that, the one that was answered first is cut off.
 */
const BODIES_MAX = 32

/**
 * Time between the answers to two refused bodies of one client, in milliseconds: a client that
 * sends one after the other takes little of the time of others. Each costs about 2 ms: accepting a
 * connection, reading, scanning, answering, closing (`npm run bench -- js-attacks`).
 */
const ANSWER_MS = 250

/**
 * Longest wait of an answer to a refused body, in milliseconds: clients that share an address, as
 * behind a proxy, wait no longer for the bodies of others.
 */
const ANSWER_WAIT_MS_MAX = 3200

/** The refused bodies of a process, which are read in turns. */
export class Drain {
  private readonly bodies = new Set<IncomingMessage>()
  /** The order in which they were added. */
  private readonly oldest = new Set<IncomingMessage>()
  /** When the next answer of a client may leave, in milliseconds of `performance.now`. */
  private readonly nextMs = new Map<string, number>()
  private timer: NodeJS.Timeout | undefined
  private left = 0

  /** Reads a body slowly from here on. Its former reader must ignore the chunks. */
  add(request: IncomingMessage): void {
    const remove = (): void => {
      this.bodies.delete(request)
      this.oldest.delete(request)
    }
    request.pause()
    request.once('end', remove).once('close', remove)
    request.on('data', (chunk: Buffer) => {
      this.left -= chunk.length
      if (this.left <= 0) request.pause()
    })
    this.bodies.add(request)
    this.oldest.add(request)
    const [first] = this.oldest
    if (this.oldest.size > BODIES_MAX) first?.destroy()
    this.timer ??= setInterval(() => this.turn(), TURN_MS).unref()
  }

  /**
   * Answers a refused body of a client once its last one was answered long enough ago, but no later
   * than `ANSWER_WAIT_MS_MAX`. A response that closes before is not answered, so that no more wait
   * than there are bodies.
   */
  answer(client: string, response: EventEmitter, answer: () => void): void {
    const now = performance.now()
    const waitMs = Math.min(Math.max((this.nextMs.get(client) ?? now) - now, 0), ANSWER_WAIT_MS_MAX)
    const next = now + waitMs + ANSWER_MS
    this.nextMs.set(client, next)
    if (waitMs === 0) answer()
    else {
      const timer = setTimeout(answer, waitMs).unref()
      response.once('close', () => clearTimeout(timer))
    }
    const forget = (): void => {
      if (this.nextMs.get(client) === next) this.nextMs.delete(client)
    }
    setTimeout(forget, next - now).unref()
  }

  /** The body that has waited longest is read for a while. */
  private turn(): void {
    const [next] = this.bodies
    if (next === undefined) {
      clearInterval(this.timer)
      this.timer = undefined
      return
    }
    this.bodies.delete(next)
    this.bodies.add(next)
    this.left = TURN_BYTES
    next.resume()
  }
}
