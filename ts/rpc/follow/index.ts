// Following the chain and the pool: filters, and the sources of subscriptions.
import type { Core } from '../../core/port.ts'
import { limitExceeded } from '../errors.ts'
import type { Source } from '../subscription.ts'
import { Filters } from './filters.ts'
import { Follower } from './follower.ts'
import type { Interest } from './interest.ts'
import type { FollowLimits } from './limits.ts'

export type { Listener } from './follower.ts'
export type { Interest } from './interest.ts'
export type { FollowLimits } from './limits.ts'

/** What methods follow the chain with. */
export class Following {
  readonly follower: Follower
  readonly filters: Filters
  private readonly limits: FollowLimits
  /** Subscriptions that are counted, by what they are to. */
  private readonly open = { heads: 0, logs: 0 }

  constructor(core: Core, limits: FollowLimits, report: (e: unknown) => void) {
    this.follower = new Follower(core, report)
    this.filters = new Filters(this.follower, limits.filterIdleMs)
    this.limits = limits
  }

  /** The source of a subscription; throws where there are as many of its kind as there may be. */
  source(interest: Interest): Source {
    const { kind } = interest
    const counted = kind === 'heads' || kind === 'logs' ? kind : undefined
    if (counted !== undefined && this.open[counted] >= this.limits[counted]) {
      throw limitExceeded(`too many subscriptions to ${counted === 'heads' ? 'new heads' : 'logs'}: at most ${this.limits[counted]}`)
    }
    return async (listener) => {
      const release = (): void => {
        if (counted !== undefined) this.open[counted]--
      }
      // Counted before anything is waited for, so that many who come at once are not all let in.
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
