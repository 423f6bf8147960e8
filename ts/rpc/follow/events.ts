// The events of chain and pool that the core reports.
import { jsonOf } from '../../core/chunks.ts'
import type { Core, Hex } from '../../core/port.ts'

/**
 * A block joined the chain as its head (number, hash, number of transactions), or the head left it;
 * or a transaction in the pool became executable.
 */
export type ChainEvent = readonly ['added', number, Hex, number] | readonly ['removed', number, Hex] | readonly ['transaction', Hex]

/** Some events that came one after the other. */
export interface EventPage {
  /** How many events there have been up to the end of this page. */
  readonly next: number
  /** How many came before this page and are forgotten. */
  readonly missed: number
  readonly events: readonly ChainEvent[]
}

/** What came after the first `after` events; where nothing did yet, waits if `wait` is set. */
export const eventsAfter = async (core: Core, after: number, wait: boolean): Promise<EventPage> =>
  jsonOf<EventPage>(await core.events(after, wait))

/** How many events there have been. */
export const eventCount = async (core: Core): Promise<number> => (await eventsAfter(core, Number.MAX_SAFE_INTEGER, false)).next
