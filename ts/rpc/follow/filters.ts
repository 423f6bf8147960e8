// Filters: events since the last request, kept until the next one.
import { randomBytes } from 'node:crypto'
import type { JsonObject } from '../../core/port.ts'
import { limitExceeded, overShare, serverError } from '../errors.ts'
import { Shares } from '../shares.ts'
import type { Follower, Listener } from './follower.ts'
import type { Interest } from './interest.ts'
import { FILTERS_BYTES_MAX, FILTERS_MAX, WAITING_BYTES_MAX, WAITING_MAX } from './limits.ts'

/** Bytes of a filter's id. */
const ID_BYTES = 16

/** One filter. */
interface Filter {
  readonly interest: Interest
  /** Whose it is, by address. */
  readonly client: string | undefined
  waiting: Uint8Array[]
  bytes: number
  /** More events than can be kept: the next request gets an error. */
  overflowed: boolean
  /** When the filter was last requested. */
  askedAt: number
  stop: () => void
}

const encoder = new TextEncoder()

/** An id that cannot be guessed, without leading zeros. */
const newId = (): string => `0x${randomBytes(ID_BYTES).toString('hex').replace(/^0+/, '') || '0'}`

/** A JSON array of results. */
function array(results: readonly Uint8Array[]): Uint8Array {
  const comma = encoder.encode(',')
  const parts = results.flatMap((result, i) => (i === 0 ? [result] : [comma, result]))
  return Buffer.concat([encoder.encode('['), ...parts, encoder.encode(']')])
}

/** Additional options of filters. */
export interface FiltersOptions {
  readonly now?: () => number
  /** Part of them, and of the memory of their results, that one client may have. */
  readonly share?: number
}

/** The filters of a node. */
export class Filters {
  private readonly filters = new Map<string, Filter>()
  private bytes = 0
  private readonly follower: Follower
  private readonly idleMs: number
  private readonly now: () => number
  /** Filters of each client, and bytes of their results. */
  private readonly shares: Shares
  private readonly byteShares: Shares
  private sweeper: NodeJS.Timeout | undefined

  constructor(follower: Follower, idleMs: number, { now = Date.now, share = 1 }: FiltersOptions = {}) {
    this.follower = follower
    this.idleMs = idleMs
    this.now = now
    this.shares = new Shares(FILTERS_MAX, share)
    this.byteShares = new Shares(FILTERS_BYTES_MAX, share)
  }

  /** Makes a filter of a client; its id. */
  async open(interest: Interest, client?: string): Promise<string> {
    // Checking all filters at each opening or request would take longer the more there are.
    if (this.filters.size >= FILTERS_MAX) this.sweep()
    if (this.filters.size >= FILTERS_MAX) throw limitExceeded(`too many filters: at most ${FILTERS_MAX}`)
    if (!this.shares.take(client)) throw overShare('filters', this.shares)
    const filter: Filter = { interest, client, waiting: [], bytes: 0, overflowed: false, askedAt: this.now(), stop: () => undefined }
    const id = newId()
    this.filters.set(id, filter)
    try {
      filter.stop = await this.follower.listen(interest, this.listener(filter))
    } catch (e) {
      this.shares.release(client)
      this.filters.delete(id)
      throw e
    }
    this.sweeper ??= setInterval(() => this.sweep(), Math.max(1, this.idleMs / 4)).unref()
    return id
  }

  /** Ends a filter; false where there is none. */
  close(id: string): boolean {
    const filter = this.filters.get(id)
    if (filter === undefined) return false
    this.empty(filter)
    filter.stop()
    this.shares.release(filter.client)
    this.filters.delete(id)
    if (this.filters.size === 0) {
      clearInterval(this.sweeper)
      this.sweeper = undefined
    }
    return true
  }

  /** What happened since the last question, as a JSON array. */
  async changes(id: string): Promise<Uint8Array> {
    this.found(id)
    await this.follower.catchUp()
    const filter = this.found(id)
    if (filter.overflowed) {
      this.close(id)
      throw serverError('filter overflowed')
    }
    return array(this.empty(filter))
  }

  /** The criteria of a filter for logs. */
  criteria(id: string): JsonObject {
    const { interest } = this.found(id)
    if (interest.kind !== 'logs') throw serverError('filter not found')
    return interest.filter
  }

  private found(id: string): Filter {
    const filter = this.filters.get(id)
    if (filter !== undefined && this.isIdle(filter)) this.close(id)
    else if (filter !== undefined) {
      filter.askedAt = this.now()
      return filter
    }
    throw serverError('filter not found')
  }

  private listener(filter: Filter): Listener {
    const overflow = (): void => {
      filter.overflowed = true
      this.empty(filter)
      filter.stop()
    }
    return {
      push: (result) => {
        if (filter.overflowed) return
        if (!this.byteShares.take(filter.client, result.length)) return overflow()
        filter.waiting.push(result)
        filter.bytes += result.length
        this.bytes += result.length
        const full = filter.waiting.length > WAITING_MAX || filter.bytes > WAITING_BYTES_MAX
        if (full || this.bytes > FILTERS_BYTES_MAX) overflow()
      },
      lost: overflow,
    }
  }

  /** Takes what waits. */
  private empty(filter: Filter): Uint8Array[] {
    const { waiting } = filter
    this.bytes -= filter.bytes
    this.byteShares.release(filter.client, filter.bytes)
    filter.bytes = 0
    filter.waiting = []
    return waiting
  }

  /** Ends the filters that were not requested for too long. */
  private sweep(): void {
    for (const [id, filter] of this.filters) if (this.isIdle(filter)) this.close(id)
  }

  private isIdle({ askedAt }: Filter): boolean {
    return askedAt < this.now() - this.idleMs
  }
}
