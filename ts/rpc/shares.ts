// How much of a shared resource one client may hold, so that no client holds the last of it.

/**
 * What each client holds of one resource. Clients are distinguished by address: IPv6 by its first
 * 64 bits.
 */
export class Shares {
  /** Most that one client may hold. */
  readonly most: number
  private readonly held = new Map<string, number>()

  /**
   * `limit` is that of all clients together, `share` the part of it that one client may hold, at
   * most 1. Every client may hold `least`.
   */
  constructor(limit: number, share: number, least = 1) {
    this.most = share >= 1 ? Number.POSITIVE_INFINITY : Math.max(Math.min(least, limit), Math.floor(limit * share))
  }

  /**
   * Takes `count` for a client; false if it would hold more than its share. Work of this process
   * has no client and no share.
   */
  take(client: string | undefined, count = 1): boolean {
    if (client === undefined || this.most === Number.POSITIVE_INFINITY) return true
    const after = (this.held.get(client) ?? 0) + count
    if (after > this.most) return false
    this.held.set(client, after)
    return true
  }

  /** Releases `count`. */
  release(client: string | undefined, count = 1): void {
    if (client === undefined || this.most === Number.POSITIVE_INFINITY) return
    const after = (this.held.get(client) ?? 0) - count
    if (after > 0) this.held.set(client, after)
    else this.held.delete(client)
  }

  /** Clients that hold something. */
  get clients(): number {
    return this.held.size
  }
}
