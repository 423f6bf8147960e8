// The subscriptions of one connection: each is a feed whose notifications are sent one by one, so
// that a slow client slows the feed down.
import { randomBytes } from 'node:crypto'
import type { ByteStream, BytesBody, StreamBody } from '../core/body.ts'
import { WAITING_BYTES_MAX, WAITING_MAX } from '../rpc/follow/limits.ts'
import { type Feed, type Source, type Subscriber, tooManySubscriptions } from '../rpc/subscription.ts'
import { FEEDS_MAX, SUBSCRIPTIONS_MAX } from './limits.ts'
import { Outbox } from './outbox.ts'

/** Bytes of a subscription's id. */
const ID_BYTES = 16

const encoder = new TextEncoder()

/** What stands behind a result. */
const TAIL = encoder.encode('}}')

/** A subscription under way. */
interface Running {
  ended: boolean
  readonly isFeed: boolean
  stop: () => void
  /** Of a feed: no result follows the one in progress. */
  readonly finish: () => void
}

/** What stands before a result. */
const headOf = (namespace: string, id: string): Uint8Array =>
  encoder.encode(`{"jsonrpc":"2.0","method":"${namespace}_subscription","params":{"subscription":"${id}","result":`)

/** A result within its notification. */
function notification(namespace: string, id: string, result: ByteStream): ByteStream {
  const head = [headOf(namespace, id)]
  let over = false
  return {
    async next() {
      const chunk = head.shift() ?? (over ? null : await result.next())
      if (chunk !== null || over) return chunk
      over = true
      return TAIL
    },
    cancel: () => result.cancel(),
  }
}

/** The notifications of a connection. */
export class Subscriptions {
  private readonly running = new Map<string, Running>()
  private readonly send: (notification: BytesBody | StreamBody) => Promise<void>
  private readonly fail: (e: unknown) => void
  private readonly report: (e: unknown) => void
  private readonly outbox: Outbox
  private isClosed = false

  /**
   * `send` resolves when a notification has left; `fail` is called with a feed that broke, and ends
   * the connection; `overflow` is called with the number of notifications that a slow client
   * missed, and ends the connection too.
   */
  constructor(
    send: (notification: BytesBody | StreamBody) => Promise<void>,
    fail: (e: unknown) => void,
    report: (e: unknown) => void,
    overflow: (missed: number) => void,
  ) {
    this.send = send
    this.fail = fail
    this.report = report
    this.outbox = new Outbox(
      { notifications: WAITING_MAX, bytes: WAITING_BYTES_MAX },
      (bytes) => send({ kind: 'bytes', bytes }),
      (missed) => {
        this.close()
        overflow(missed)
      },
    )
  }

  /**
   * The subscriber of one request; its feeds start with `begin`, which is to be called when the
   * answer has been sent.
   */
  openSubscriber(): Subscriber & { readonly begin: () => void } {
    const waiting: (() => void)[] = []
    return {
      subscribe: (namespace, feed) => {
        const feeds = [...this.running.values()].filter(({ isFeed }) => isFeed).length
        if (feeds >= FEEDS_MAX) throw tooManySubscriptions(FEEDS_MAX)
        const [id, running] = this.register(true, feed.cancel, feed.end)
        waiting.push(() => {
          if (running.ended) feed.cancel()
          else this.run(namespace, id, running, feed).catch(this.fail)
        })
        return id
      },
      follow: (namespace, source) => this.follow(namespace, source, waiting),
      unsubscribe: (id) => this.end(id),
      report: this.report,
      begin: () => {
        for (const start of waiting.splice(0)) start()
      },
    }
  }

  /** Ends all subscriptions: the client has disconnected. */
  close(): void {
    this.isClosed = true
    for (const id of [...this.running.keys()]) this.end(id, true)
  }

  private register(isFeed: boolean, stop: () => void, finish: () => void = () => undefined): [string, Running] {
    if (this.running.size >= SUBSCRIPTIONS_MAX) throw tooManySubscriptions(SUBSCRIPTIONS_MAX)
    const id = `0x${randomBytes(ID_BYTES).toString('hex')}`
    // A request may be served while its connection closes.
    const running: Running = { ended: this.isClosed, isFeed, stop, finish }
    if (!this.isClosed) this.running.set(id, running)
    return [id, running]
  }

  private async follow(namespace: string, source: Source, waiting: (() => void)[]): Promise<string> {
    const [id, running] = this.register(false, () => undefined)
    const head = headOf(namespace, id)
    // What happens before the answer has left waits for it.
    let early: Uint8Array[] | undefined = []
    const push = (result: Uint8Array): void => {
      const bytes = Buffer.concat([head, result, TAIL])
      if (running.ended) return
      if (early === undefined) this.outbox.push(bytes)
      else if (early.length < WAITING_MAX) early.push(bytes)
      else this.outbox.end(early.length + 1)
    }
    try {
      const stop = await source({ push, lost: (events) => this.outbox.end(events) })
      running.stop = stop
      // The client may have disconnected in the meantime.
      if (running.ended) stop()
    } catch (e) {
      this.running.delete(id)
      throw e
    }
    waiting.push(() => {
      const first = early ?? []
      early = undefined
      for (const bytes of first) this.outbox.push(bytes)
    })
    return id
  }

  /**
   * Ends a subscription. A notification in progress is sent to its end: other messages cannot
   * follow half of one.
   */
  private end(id: string, clientHasGone = false): boolean {
    const running = this.running.get(id)
    if (running === undefined) return false
    running.ended = true
    if (clientHasGone || !running.isFeed) running.stop()
    else running.finish()
    return this.running.delete(id)
  }

  private async run(namespace: string, id: string, running: Running, feed: Feed): Promise<void> {
    try {
      for await (const result of feed.results) {
        if (running.ended) break
        await this.send({ kind: 'stream', stream: notification(namespace, id, result) })
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
