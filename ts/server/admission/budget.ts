// How many bytes of requests may be in memory at the same time, over all connections of a listener.
import { Queue } from '../queue.ts'

/** A request that waits for free bytes. */
interface Waiting {
  readonly bytes: number
  /** Whether it has been admitted or has given up. */
  isOver: boolean
  readonly settle: (admitted: boolean) => void
}

/** Bytes that are taken while a request is read and given back once it is answered. */
export class ByteBudget {
  private readonly limit: number
  private used = 0
  private readonly waiting = new Queue<Waiting>()

  /** `limit` in bytes; 0 is none. */
  constructor(limit: number) {
    this.limit = limit === 0 ? Number.POSITIVE_INFINITY : limit
  }

  /** Bytes that are taken. */
  get taken(): number {
    return this.used
  }

  /** Takes bytes if there is room, and no earlier request waits. */
  take(bytes: number): boolean {
    if (this.next() !== undefined || !this.fits(bytes)) return false
    this.used += bytes
    return true
  }

  /**
   * Takes bytes, after earlier requests have theirs; false after `waitMs` milliseconds, or when
   * `gone` is aborted.
   */
  async takeWithin(bytes: number, waitMs: number, gone?: AbortSignal): Promise<boolean> {
    if (gone?.aborted === true) return false
    if (this.take(bytes)) return true
    return await new Promise((resolve) => {
      const giveUp = (): void => {
        entry.settle(false)
        // What waits behind it may be smaller.
        this.admit()
      }
      const entry: Waiting = {
        bytes,
        isOver: false,
        settle: (admitted) => {
          entry.isOver = true
          clearTimeout(timer)
          gone?.removeEventListener('abort', giveUp)
          resolve(admitted)
        },
      }
      const timer = setTimeout(giveUp, waitMs)
      gone?.addEventListener('abort', giveUp)
      this.waiting.push(entry)
    })
  }

  /** Gives bytes back. */
  release(bytes: number): void {
    this.used -= bytes
    this.admit()
  }

  private admit(): void {
    for (let next = this.next(); next !== undefined && this.fits(next.bytes); next = this.next()) {
      this.waiting.shift()
      this.used += next.bytes
      next.settle(true)
    }
  }

  /** The next waiting request; cancelled ones are dropped. */
  private next(): Waiting | undefined {
    while (this.waiting.first?.isOver === true) this.waiting.shift()
    return this.waiting.first
  }

  /** The only request always fits: it may exceed the limit by one read of a socket. */
  private fits(bytes: number): boolean {
    return this.used === 0 || this.used + bytes <= this.limit
  }
}
