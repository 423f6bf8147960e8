// Requests that wait for bytes: one timer for all, since a timer for each would cost more than
// reading most of them.

/** Something that waits for bytes. */
export interface Waiter {
  /** When something came last, in milliseconds of `performance.now`. */
  lastMs: number
  /** Called once if nothing arrived for too long. */
  readonly stalled: () => void
}

/** Ends waits in which nothing comes for a limit. */
export class IdleClock {
  private readonly limitMs: number
  private readonly waiting = new Set<Waiter>()
  private timer: NodeJS.Timeout | undefined

  /** `limitMs` in milliseconds; 0 ends nothing. */
  constructor(limitMs: number) {
    this.limitMs = limitMs
  }

  /** Begins to watch a wait, until `end`. */
  begin(waiter: Waiter): void {
    if (this.limitMs === 0) return
    this.waiting.add(waiter)
    this.timer ??= setTimeout(() => this.look(), this.limitMs).unref()
  }

  /** Forgets a wait. */
  end(waiter: Waiter): void {
    this.waiting.delete(waiter)
  }

  /** Ends those that waited too long, and comes again when the next one may have. */
  private look(): void {
    const now = performance.now()
    let nextMs = this.limitMs
    for (const waiter of this.waiting) {
      const leftMs = waiter.lastMs + this.limitMs - now
      if (leftMs > 0) nextMs = Math.min(nextMs, leftMs)
      else {
        this.waiting.delete(waiter)
        waiter.stalled()
      }
    }
    this.timer = this.waiting.size === 0 ? undefined : setTimeout(() => this.look(), Math.ceil(nextMs)).unref()
  }
}
