// Fetches blocks ahead of the core, within a number of blocks and of bytes.

/** What was fetched. */
export interface Fetched {
  readonly bytes: number
}

/** Bounds of what is fetched ahead. */
export interface PrefetchOptions {
  readonly atOnce: number
  readonly bytesAhead: number
}

/** What came of fetching: an error is thrown where its block is due. */
type Outcome<T> = { readonly value: T } | { readonly error: unknown }

/** Fetches for one run of blocks. */
export interface Ahead<T> {
  /** What was fetched for the next block; rejects with why it could not be. */
  next(): Promise<T>
  /** Begins nothing more. */
  cancel(): void
}

/** Keeps the bounds over several runs. */
export class Prefetch {
  private readonly options: PrefetchOptions
  /** Bytes that the last block took: the next ones are taken to be as large. */
  private usual = 0

  constructor(options: PrefetchOptions) {
    this.options = options
  }

  begin<B, T extends Fetched>(blocks: readonly B[], fetch: (block: B) => Promise<T>): Ahead<T> {
    const waiting: Promise<Outcome<T>>[] = []
    let begun = 0
    let held = 0
    let underWay = 0
    let isCancelled = false

    const mayBegin = (): boolean =>
      !isCancelled &&
      begun < blocks.length &&
      waiting.length < this.options.atOnce &&
      (waiting.length === 0 || held + (underWay + 1) * this.usual <= this.options.bytesAhead)

    const start = async (block: B): Promise<Outcome<T>> => {
      underWay++
      try {
        const value = await fetch(block)
        this.usual = value.bytes
        held += value.bytes
        return { value }
      } catch (error) {
        return { error }
      } finally {
        underWay--
      }
    }
    const fillUp = (): void => {
      while (mayBegin()) waiting.push(start(blocks[begun++] as B))
    }
    return {
      next: async () => {
        fillUp()
        const first = waiting[0]
        if (first === undefined) throw new RangeError('no block is left')
        const outcome = await first
        waiting.splice(0, 1)
        if ('error' in outcome) throw outcome.error
        held -= outcome.value.bytes
        fillUp()
        return outcome.value
      },
      cancel: () => {
        isCancelled = true
      },
    }
  }
}
