// How many bytes of requests may be in memory at the same time, over all connections of a listener.

/** Someone who waits for room. */
interface Waiting {
  readonly bytes: number
  readonly settle: (admitted: boolean) => void
}

/** Bytes that are taken while a request is read and given back once it is answered. */
export class ByteBudget {
  private readonly limit: number
  private used = 0
  private readonly waiting: Waiting[] = []

  /** `limit` in bytes; 0 is none. */
  constructor(limit: number) {
    this.limit = limit === 0 ? Number.POSITIVE_INFINITY : limit
  }

  /** Bytes that are taken. */
  get taken(): number {
    return this.used
  }

  /** Takes bytes where there is room, and nobody came before. */
  take(bytes: number): boolean {
    if (this.waiting.length > 0 || !this.fits(bytes)) return false
    this.used += bytes
    return true
  }

  /** Takes bytes, once those who came before have theirs; false after `waitMs` milliseconds. */
  async takeWithin(bytes: number, waitMs: number): Promise<boolean> {
    if (this.take(bytes)) return true
    return await new Promise((resolve) => {
      const entry: Waiting = {
        bytes,
        settle: (admitted) => {
          clearTimeout(timer)
          resolve(admitted)
        },
      }
      const timer = setTimeout(() => {
        this.waiting.splice(this.waiting.indexOf(entry), 1)
        resolve(false)
        // What waits behind it may be smaller.
        this.admit()
      }, waitMs)
      this.waiting.push(entry)
    })
  }

  /** Gives bytes back. */
  release(bytes: number): void {
    this.used -= bytes
    this.admit()
  }

  private admit(): void {
    for (let next = this.waiting[0]; next !== undefined && this.fits(next.bytes); next = this.waiting[0]) {
      this.waiting.shift()
      this.used += next.bytes
      next.settle(true)
    }
  }

  private fits(bytes: number): boolean {
    return this.used + bytes <= this.limit
  }
}
