// The subscriptions of one connection: each is a feed whose notifications go out one by one, so that a slow client slows the feed down.
import { randomBytes } from 'node:crypto'
import type { ResultStream } from '../core/port.ts'
import { type Feed, type Subscriber, tooManySubscriptions } from '../rpc/subscription.ts'
import { SUBSCRIPTIONS_MAX } from './limits.ts'

/** Bytes of a subscription's id. */
const ID_BYTES = 16

const encoder = new TextEncoder()

/** A subscription under way. */
interface Running {
  ended: boolean
  readonly feed: Feed
}

/** A result within its notification. */
function notification(namespace: string, id: string, result: ResultStream): ResultStream {
  const head = [encoder.encode(`{"jsonrpc":"2.0","method":"${namespace}_subscription","params":{"subscription":"${id}","result":`)]
  let over = false
  return {
    async next() {
      const chunk = head.shift() ?? (over ? null : await result.next())
      if (chunk !== null || over) return chunk
      over = true
      return encoder.encode('}}')
    },
    isOver: () => over,
    cancel: () => result.cancel(),
  }
}

/** What a connection sends without being asked each time. */
export class Subscriptions {
  private readonly running = new Map<string, Running>()
  private readonly send: (notification: ResultStream) => Promise<void>
  private readonly fail: (e: unknown) => void
  private readonly report: (e: unknown) => void

  /** `send` resolves when a notification has left; `fail` is told of a feed that broke, and ends the connection. */
  constructor(send: (notification: ResultStream) => Promise<void>, fail: (e: unknown) => void, report: (e: unknown) => void) {
    this.send = send
    this.fail = fail
    this.report = report
  }

  /** The door for one request; what it begins starts with `begin`, which is to be called when the answer has left. */
  door(): Subscriber & { readonly begin: () => void } {
    const waiting: (() => void)[] = []
    return {
      subscribe: (namespace, feed) => {
        if (this.running.size >= SUBSCRIPTIONS_MAX) throw tooManySubscriptions(SUBSCRIPTIONS_MAX)
        const id = `0x${randomBytes(ID_BYTES).toString('hex')}`
        const running: Running = { ended: false, feed }
        this.running.set(id, running)
        waiting.push(() => {
          this.run(namespace, id, running).catch(this.fail)
        })
        return id
      },
      unsubscribe: (id) => this.end(id),
      report: this.report,
      begin: () => {
        for (const start of waiting.splice(0)) start()
      },
    }
  }

  /** Ends all of them: the client has gone. */
  close(): void {
    for (const id of [...this.running.keys()]) this.end(id)
  }

  private end(id: string): boolean {
    const running = this.running.get(id)
    if (running === undefined) return false
    running.ended = true
    running.feed.cancel()
    return this.running.delete(id)
  }

  private async run(namespace: string, id: string, running: Running): Promise<void> {
    try {
      for await (const result of running.feed.results) {
        if (running.ended) break
        await this.send(notification(namespace, id, result))
        if (running.ended) break
      }
    } catch (e) {
      // The work of one that was ended fails because of that.
      if (!running.ended) throw e
    } finally {
      this.running.delete(id)
    }
  }
}
