// Token buckets: how many requests a client may send, at once and in the long run.

/**
 * Clients that are remembered; the one that was quiet for longest is forgotten first, and starts
 * with a full bucket again.
 */
export const BUCKETS_MAX = 50_000

/** How far sums of times may be off, in milliseconds. */
const ROUNDING_MS = 0.001

/** A bucket for each client; it holds `burst` tokens and gains `perSecond` a second. */
export class TokenBuckets {
  /** Time in which a token comes, in milliseconds. */
  private readonly tokenMs: number
  /** Time in which an empty bucket fills, in milliseconds. */
  private readonly fillMs: number
  private readonly now: () => number
  /** When each client's bucket will be full, in order of its last use. */
  private readonly fullAt = new Map<string, number>()

  constructor(perSecond: number, burst: number, now: () => number = () => performance.now()) {
    this.tokenMs = 1000 / perSecond
    this.fillMs = burst * this.tokenMs
    this.now = now
  }

  /**
   * Takes `tokens` from a client's bucket, all or none; returns 0 if it had them, otherwise the
   * milliseconds until it may have. A bucket never has more than its size: then the time is that
   * until it is full.
   */
  take(client: string, tokens: number): number {
    const now = this.now()
    const full = Math.max(now, this.fullAt.get(client) ?? now)
    const after = full + tokens * this.tokenMs
    const taken = after - now <= this.fillMs + ROUNDING_MS
    this.fullAt.delete(client)
    this.fullAt.set(client, taken ? after : full)
    if (this.fullAt.size > BUCKETS_MAX) this.fullAt.delete(this.fullAt.keys().next().value as string)
    return taken ? 0 : Math.max(1, Math.ceil(Math.min(after - this.fillMs, full) - now))
  }

  /** Clients that are remembered. */
  get size(): number {
    return this.fullAt.size
  }
}
