// Filters and subscriptions: they follow the chain and the pool.
import type { Core } from '../../core/port.ts'
import { limitExceeded, overShare } from '../errors.ts'
import { Shares } from '../shares.ts'
import type { Source } from '../subscription.ts'
import { Filters } from './filters.ts'
import { Follower } from './follower.ts'
import type { Interest } from './interest.ts'
import type { FollowLimits } from './limits.ts'

export type { Listener } from './follower.ts'
export type { Interest } from './interest.ts'
export type { FollowLimits } from './limits.ts'

/** What is counted, as messages name it. */
const NAMES = { heads: 'new heads', logs: 'logs' } as const

/** The limit that an interest counts for; undefined where it counts for none. */
function countedAs({ kind }: Interest): keyof typeof NAMES | undefined {
  if (kind === 'heads' || kind === 'logs') return kind
  // As much of a block is read and sent as for logs.
  return kind === 'receipts' ? 'logs' : undefined
}

/** The filters and subscriptions of a node, with their limits. */
export class SubscriptionHub {
  readonly follower: Follower
  readonly filters: Filters
  private readonly limits: FollowLimits
  /** Number of open subscriptions by subject. */
  private readonly open = { heads: 0, logs: 0 }
  /** Number of open subscriptions of each client. */
  private readonly shares: { readonly heads: Shares; readonly logs: Shares }

  constructor(core: Core, limits: FollowLimits, report: (e: unknown) => void) {
    this.follower = new Follower(core, report)
    const { share = 1 } = limits
    this.filters = new Filters(this.follower, limits.filterIdleMs, { share })
    this.limits = limits
    this.shares = { heads: new Shares(limits.heads, share), logs: new Shares(limits.logs, share) }
  }

  /**
   * The source of a subscription of a client; throws if there are as many of its kind as allowed,
   * or as the client may have.
   */
  source(interest: Interest, client?: string): Source {
    const counted = countedAs(interest)
    if (counted !== undefined && this.open[counted] >= this.limits[counted]) {
      throw limitExceeded(`too many subscriptions to ${NAMES[counted]}: at most ${this.limits[counted]}`)
    }
    return async (listener) => {
      const release = (): void => {
        if (counted === undefined) return
        this.open[counted]--
        this.shares[counted].release(client)
      }
      if (counted !== undefined && !this.shares[counted].take(client))
        throw overShare(`subscriptions to ${NAMES[counted]}`, this.shares[counted])
      // Counted before the first await, so that concurrent requests cannot exceed the limit.
      if (counted !== undefined) this.open[counted]++
      let stop: (() => void) | undefined
      try {
        stop = await this.follower.listen(interest, listener)
      } catch (e) {
        release()
        throw e
      }
      return () => {
        stop?.()
        if (stop !== undefined) release()
        stop = undefined
      }
    }
  }
}
