// Quantiles of what was measured lately, many series in flat arrays.

/**
 * Series are measured in windows of this length; quantiles cover the current window and the one
 * before.
 */
export const WINDOW_MS = 60_000

/** Buckets per doubling: the error of a quantile is at most 2.2 %. */
const PER_OCTAVE = 16

/** The first bucket ends here, in milliseconds: nothing we measure is shorter. */
const LEAST_MS = 0.001

/** Groups of buckets, a doubling each: the last bucket takes everything over 8.2 minutes. */
const OCTAVES = 29

const BUCKETS = OCTAVES * PER_OCTAVE

/** The value that stands for a bucket, in milliseconds: its middle on the logarithmic scale. */
const middle = (bucket: number): number => LEAST_MS * 2 ** ((bucket - 0.5) / PER_OCTAVE)

/**
 * Counts of one window. Counts by octave are the sums of those by bucket: with them a quantile
 * skips most buckets.
 */
class Counts {
  octaves = new Uint32Array(OCTAVES)
  buckets = new Uint32Array(BUCKETS)

  clear(): void {
    this.octaves.fill(0)
    this.buckets.fill(0)
  }

  grow(series: number): void {
    this.octaves = grown(this.octaves, series * OCTAVES)
    this.buckets = grown(this.buckets, series * BUCKETS)
  }
}

function grown(old: Uint32Array<ArrayBuffer>, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(length)
  larger.set(old)
  return larger
}

/** Counts by series and bucket over the last one to two windows. */
export class Window {
  private current = new Counts()
  private previous = new Counts()
  /** Series that there is room for. */
  private series = 1
  /** When the window under way ends, in milliseconds of the caller's clock. */
  private ends: number

  constructor(now: number) {
    this.ends = now + WINDOW_MS
  }

  /** Records a value of a series at a moment, both in milliseconds. */
  record(series: number, ms: number, now: number): void {
    if (now >= this.ends) this.turn(now)
    if (series >= this.series) this.grow(series)
    const bucket = ms <= LEAST_MS ? 0 : Math.min(BUCKETS - 1, Math.ceil(Math.log2(ms / LEAST_MS) * PER_OCTAVE))
    const { octaves, buckets } = this.current
    const at = series * BUCKETS + bucket
    // A series has a whole number of octaves, so places divide as buckets do.
    const octave = (at / PER_OCTAVE) | 0
    buckets[at] = (buckets[at] as number) + 1
    octaves[octave] = (octaves[octave] as number) + 1
  }

  /** Values at quantiles, ascending, in milliseconds; NaN where nothing was recorded lately. */
  quantiles(series: number, quantiles: readonly number[], now: number): number[] {
    if (now >= this.ends) this.turn(now)
    const { octaves, buckets } = this.current
    const { octaves: octavesBefore, buckets: bucketsBefore } = this.previous
    const from = series * OCTAVES
    let count = 0
    if (series < this.series) {
      for (let i = from; i < from + OCTAVES; i++) count += (octaves[i] as number) + (octavesBefore[i] as number)
    }
    if (count === 0) return quantiles.map(() => Number.NaN)
    let octave = from
    // What lies below the octave.
    let below = 0
    return quantiles.map((q) => {
      const rank = Math.max(1, Math.ceil(q * count))
      for (;;) {
        const within = (octaves[octave] as number) + (octavesBefore[octave] as number)
        if (below + within >= rank) break
        below += within
        octave++
      }
      let bucket = octave * PER_OCTAVE
      let upTo = below + (buckets[bucket] as number) + (bucketsBefore[bucket] as number)
      while (upTo < rank) {
        bucket++
        upTo += (buckets[bucket] as number) + (bucketsBefore[bucket] as number)
      }
      return middle(bucket - series * BUCKETS)
    })
  }

  private turn(now: number): void {
    const late = now - this.ends >= WINDOW_MS
    ;[this.current, this.previous] = [this.previous, this.current]
    this.current.clear()
    if (late) this.previous.clear()
    this.ends = now + WINDOW_MS
  }

  private grow(series: number): void {
    this.series = Math.max(series + 1, this.series * 2)
    this.current.grow(this.series)
    this.previous.grow(this.series)
  }
}
