// Bytes of requests in memory, by client and in total: no client may take all of them.
import { ByteBudget } from './budget.ts'

/** What the connections of one client take together. */
interface Own {
  readonly budget: ByteBudget
  /** Connections that may take of it. */
  connections: number
}

/** A share of a byte budget: what it takes counts towards the client and towards the total. */
export interface SharedBudget {
  /** Whether the last who found no room lacked that of its client, and not that of all. */
  readonly isOverShare: boolean
  take(bytes: number): boolean
  takeWithin(bytes: number, waitMs: number, gone?: AbortSignal): Promise<boolean>
  release(bytes: number): void
  /** Takes nothing more. What was taken is given back later. */
  leave(): void
}

/**
 * A budget of which each client may take a part. Only clients with connections or bytes are
 * remembered.
 */
export class ClientBudgets {
  private readonly all: ByteBudget
  /** Most of one client, in bytes. */
  private readonly most: number
  private readonly own = new Map<string, Own>()

  /**
   * `limit` in bytes, 0 is none; `share` is the part of one client, at most 1, `least` what each
   * may take in any case.
   */
  constructor(limit: number, share: number, least: number) {
    this.all = new ByteBudget(limit)
    this.most = share >= 1 || limit === 0 ? 0 : Math.max(Math.min(least, limit), Math.floor(limit * share))
  }

  /** Clients that are remembered. */
  get clients(): number {
    return this.own.size
  }

  /** The budget of a connection of a client. */
  of(client: string): SharedBudget {
    const own = this.own.get(client) ?? { budget: new ByteBudget(this.most), connections: 0 }
    own.connections++
    this.own.set(client, own)
    return new ClientShare(this.all, own, () => {
      if (own.connections === 0 && own.budget.taken === 0) this.own.delete(client)
    })
  }
}

class ClientShare implements SharedBudget {
  isOverShare = false
  private readonly all: ByteBudget
  private readonly own: Own
  private readonly tidy: () => void

  constructor(all: ByteBudget, own: Own, tidy: () => void) {
    this.all = all
    this.own = own
    this.tidy = tidy
  }

  take(bytes: number): boolean {
    this.isOverShare = !this.own.budget.take(bytes)
    if (this.isOverShare) return false
    if (this.all.take(bytes)) return true
    this.own.budget.release(bytes)
    return false
  }

  /**
   * Waits for the budget of its client first, so that no other client waits behind one that has too
   * much already.
   */
  async takeWithin(bytes: number, waitMs: number, gone?: AbortSignal): Promise<boolean> {
    const began = performance.now()
    this.isOverShare = !(await this.own.budget.takeWithin(bytes, waitMs, gone))
    if (this.isOverShare) return false
    if (await this.all.takeWithin(bytes, Math.max(0, waitMs - (performance.now() - began)), gone)) return true
    this.own.budget.release(bytes)
    this.tidy()
    return false
  }

  release(bytes: number): void {
    this.own.budget.release(bytes)
    this.all.release(bytes)
    this.tidy()
  }

  leave(): void {
    this.own.connections--
    this.tidy()
  }
}
