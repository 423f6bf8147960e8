// Follows chain and pool for all listeners: each event is read once, and rendered once for all with
// the same interest.
import { CoreError } from '../../core/error.ts'
import type { Core } from '../../core/port.ts'
import { type ChainEvent, eventCount, eventsAfter } from './events.ts'
import { type EventReads, type Interest, keyOf, notificationsOf } from './interest.ts'

/** A listener. Neither function may throw. */
export interface Listener {
  /** The JSON bytes of something that happened; they are shared with others. */
  readonly push: (result: Uint8Array) => void
  /** So many events were missed and cannot be delivered. */
  readonly lost: (events: number) => void
}

/** The listeners with the same interest. */
interface Group {
  readonly interest: Interest
  readonly listeners: Set<Listener>
}

const isOver = (e: unknown): boolean => e instanceof CoreError && e.kind === 'closed'

/** The one reader of a node's events. It only reads while there are listeners. */
export class Follower {
  private readonly core: Core
  private readonly report: (e: unknown) => void
  private readonly groups = new Map<string, Group>()
  /** Number of the next event. */
  private cursor = 0
  private pumping = false
  /** Reading is one after the other. */
  private turn: Promise<void> = Promise.resolve()

  constructor(core: Core, report: (e: unknown) => void) {
    this.core = core
    this.report = report
  }

  /** Notifies a listener of all events from now on; the returned function ends that. */
  async listen(interest: Interest, listener: Listener): Promise<() => void> {
    const key = keyOf(interest)
    await this.inTurn(async () => {
      // What happened before is not for this one.
      if (this.groups.size === 0) this.cursor = await eventCount(this.core)
      else await this.read()
      const group = this.groups.get(key) ?? { interest, listeners: new Set() }
      this.groups.set(key, group)
      group.listeners.add(listener)
    })
    this.pump()
    return () => {
      const group = this.groups.get(key)
      group?.listeners.delete(listener)
      if (group?.listeners.size === 0) this.groups.delete(key)
    }
  }

  /** Resolves once all events so far have been reported. */
  async catchUp(): Promise<void> {
    await this.inTurn(async () => {
      if (this.groups.size > 0) await this.read()
    })
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.turn.then(work)
    this.turn = mine.catch(() => undefined)
    return mine
  }

  /** Reads on whenever something happens, as long as anybody listens. */
  private pump(): void {
    if (this.pumping) return
    this.pumping = true
    const go = async (): Promise<void> => {
      while (this.groups.size > 0) {
        await this.core.events(this.cursor, true)
        await this.catchUp()
      }
    }
    go()
      .catch((e: unknown) => {
        if (isOver(e)) return
        this.report(e)
        this.toAll((listener) => listener.lost(1))
      })
      .finally(() => {
        this.pumping = false
      })
  }

  private async read(): Promise<void> {
    for (;;) {
      const { next, missed, events } = await eventsAfter(this.core, this.cursor, false)
      if (missed > 0) this.toAll((listener) => listener.lost(missed))
      for (const event of events) await this.deliver(event)
      this.cursor = next
      if (events.length === 0) return
    }
  }

  private async deliver(event: ChainEvent): Promise<void> {
    const reads: EventReads = {}
    for (const { interest, listeners } of [...this.groups.values()]) {
      try {
        for (const result of await notificationsOf(this.core, interest, event, reads)) {
          for (const listener of [...listeners]) listener.push(result)
        }
      } catch (e) {
        if (isOver(e)) throw e
        // The block was pruned, or a store failed: its listeners must know.
        this.report(e)
        for (const listener of [...listeners]) listener.lost(1)
      }
    }
  }

  private toAll(say: (listener: Listener) => void): void {
    for (const { listeners } of [...this.groups.values()]) for (const listener of [...listeners]) say(listener)
  }
}
