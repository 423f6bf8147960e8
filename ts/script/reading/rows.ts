// Results in batches: an async iterable over single items that reads one batch ahead and no
// more.
import { type AbortOptions, checkSignal, within } from '../abort-options.ts'

/** A batch, and what the next one begins with; undefined where it is the last one. */
export interface Batch<T, Next> {
  readonly items: readonly T[]
  readonly next: Next | undefined
}

/** Reads a batch. */
export type Fetch<T, Next> = (from: Next) => Promise<Batch<T, Next>>

/**
 * Items that are read in batches as they are taken: `for await` iterates over single items,
 * `batches()` over arrays of them. While one batch is being used only the next one is read, so
 * memory does not grow with the number of items. Each iteration starts at the beginning.
 */
export class Rows<T> implements AsyncIterable<T> {
  private readonly open: () => AsyncGenerator<readonly T[], void, undefined>

  /** @internal */
  constructor(open: () => AsyncGenerator<readonly T[], void, undefined>) {
    this.open = open
  }

  /** Items, one after the other. */
  [Symbol.asyncIterator](): AsyncIterator<T, void, undefined> {
    const batches = this.open()
    let items: readonly T[] = []
    let at = 0
    /** Calls that wait for a batch, one behind the other: each takes what the one before left. */
    let waiting: Promise<unknown> | undefined
    const refill = async (): Promise<IteratorResult<T, void>> => {
      for (;;) {
        if (at < items.length) return { done: false, value: items[at++] as T }
        const batch = await batches.next()
        if (batch.done === true) return { done: true, value: undefined }
        items = batch.value
        at = 0
      }
    }
    const inTurn = (): Promise<IteratorResult<T, void>> => {
      const mine = waiting === undefined ? refill() : waiting.then(refill, refill)
      const over = (): void => {
        if (waiting === mine) waiting = undefined
      }
      waiting = mine
      mine.then(over, over)
      return mine
    }
    return {
      next: () => (waiting === undefined && at < items.length ? Promise.resolve({ done: false, value: items[at++] as T }) : inTurn()),
      async return() {
        items = []
        await batches.return()
        return { done: true, value: undefined }
      },
    }
  }

  /** Arrays of items, as they come from the core; none is empty. */
  batches(): AsyncIterable<readonly T[]> {
    return { [Symbol.asyncIterator]: () => this.open() }
  }

  /** All items. They must fit in memory. */
  async toArray(): Promise<T[]> {
    const all: T[] = []
    for await (const batch of this.batches()) for (const item of batch) all.push(item)
    return all
  }
}

/** Goes from batch to batch, one read ahead. */
export function readAhead<T, Next>(first: () => Promise<Next | undefined>, fetch: Fetch<T, Next>, abort: AbortOptions): Rows<T> {
  const ask = (from: Next): Promise<Batch<T, Next>> => {
    const asked = within(abort, () => fetch(from))
    // It may fail before it is awaited, and is never awaited if the iteration ends early.
    asked.catch(() => undefined)
    return asked
  }
  return new Rows(async function* () {
    checkSignal(abort)
    const begin = await first()
    let ahead = begin === undefined ? undefined : ask(begin)
    while (ahead !== undefined) {
      const { items, next } = await ahead
      ahead = next === undefined ? undefined : ask(next)
      if (items.length > 0) yield items
      checkSignal(abort)
    }
  })
}
