// Quantiles of what was measured lately, many series in two flat arrays.

/** Series are measured in windows of this length; quantiles are over the window under way and the one before. */
export const WINDOW_MS = 60_000

/** Buckets for each doubling: a quantile is at most 2.2 % away from the value that was measured. */
const PER_OCTAVE = 16

/** The first bucket ends here, in milliseconds: nothing we measure is shorter. */
const LEAST_MS = 0.001

/** Doublings from the first bucket to the last one, which begins at 4.5 minutes. */
const OCTAVES = 28

const BUCKETS = OCTAVES * PER_OCTAVE + 1

/** The value that stands for a bucket, in milliseconds: its middle on the logarithmic scale. */
const middle = (bucket: number): number => LEAST_MS * 2 ** ((bucket - 0.5) / PER_OCTAVE)

/** Counts by series and bucket over the last one to two windows. */
export class Window {
  private current = new Uint32Array(BUCKETS)
  private previous = new Uint32Array(BUCKETS)
  /** When the window under way ends, in milliseconds of the caller's clock. */
  private ends: number

  constructor(now: number) {
    this.ends = now + WINDOW_MS
  }

  /** Records a value of a series at a moment, both in milliseconds. */
  record(series: number, ms: number, now: number): void {
    if (now >= this.ends) this.turn(now)
    const bucket = ms <= LEAST_MS ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms / LEAST_MS) * PER_OCTAVE))
    const at = series * BUCKETS + bucket
    if (at >= this.current.length) this.grow(series)
    this.current[at] = (this.current[at] as number) + 1
  }

  /** Values at quantiles, ascending, in milliseconds; NaN where nothing was recorded lately. */
  quantiles(series: number, quantiles: readonly number[], now: number): number[] {
    if (now >= this.ends) this.turn(now)
    const from = series * BUCKETS
    const known = from < this.current.length
    let count = 0
    if (known) for (let i = from; i < from + BUCKETS; i++) count += (this.current[i] as number) + (this.previous[i] as number)
    if (count === 0) return quantiles.map(() => Number.NaN)
    let bucket = -1
    let below = 0
    return quantiles.map((q) => {
      const rank = Math.max(1, Math.ceil(q * count))
      while (below < rank) {
        bucket++
        below += (this.current[from + bucket] as number) + (this.previous[from + bucket] as number)
      }
      return middle(bucket)
    })
  }

  private turn(now: number): void {
    const late = now - this.ends >= WINDOW_MS
    ;[this.current, this.previous] = [this.previous, this.current]
    this.current.fill(0)
    if (late) this.previous.fill(0)
    this.ends = now + WINDOW_MS
  }

  private grow(series: number): void {
    const length = Math.max((series + 1) * BUCKETS, this.current.length * 2)
    const copy = (old: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> => {
      const grown = new Uint32Array(length)
      grown.set(old)
      return grown
    }
    this.current = copy(this.current)
    this.previous = copy(this.previous)
  }
}
