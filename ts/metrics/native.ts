// The instruments of the native core: its table as it declares it, and the values of a moment.
import type { MetricData } from '@opentelemetry/sdk-metrics'
import type { Instrument } from '../rpc/instruments.ts'
import { distributions, type Interval, type Labels, numbers, type Point } from './series.ts'

/**
 * One series of a snapshot: a number, or the counts of a histogram's buckets, not cumulative, with
 * the bucket above all bounds last.
 */
type NativeSeries = { readonly labels: Readonly<Record<string, string>> } & (
  | { readonly value: number }
  | { readonly counts: number[]; readonly sum: number; readonly count: number }
)

/** What the core says of one instrument. */
interface NativeFamily {
  readonly name: string
  readonly series: readonly NativeSeries[]
}

/** The table of the core out of its JSON text. */
export const parseCatalog = (catalog: string): readonly Instrument[] => JSON.parse(catalog) as Instrument[]

/** Whether two series of one instrument, which have the same keys, are the same one. */
function isSame(a: Labels, b: Labels): boolean {
  for (const key in a) if (a[key] !== b[key]) return false
  return true
}

/** The native instruments of one node. */
export class NativeMetrics {
  private readonly instruments: ReadonlyMap<string, Instrument>
  private readonly snapshot: () => string
  /**
   * Labels of each instrument's series by index: a series keeps its object, by which the page finds
   * its text.
   */
  private readonly labels = new Map<string, Labels[]>()

  constructor(catalog: readonly Instrument[], snapshot: () => string) {
    this.instruments = new Map(catalog.map((instrument) => [instrument.name, instrument]))
    this.snapshot = snapshot
  }

  /** Every instrument at this moment, in the order of the core. */
  collect(interval: Interval): MetricData[] {
    return (JSON.parse(this.snapshot()) as NativeFamily[]).map(({ name, series }) => {
      const instrument = this.instruments.get(name)
      if (instrument === undefined) throw new Error(`the core measures ${name}, which is not in its table`)
      const labels = this.labelsOf(name, series)
      if (instrument.kind !== 'histogram') {
        return numbers(
          instrument,
          interval,
          series.map((s, i) => ({ labels: labels[i] as Labels, value: 'value' in s ? s.value : 0 })),
        )
      }
      const boundaries = instrument.buckets as number[]
      return distributions(
        instrument,
        interval,
        series.map((s, i) => {
          const { counts, sum, count } = 'counts' in s ? s : { counts: [], sum: 0, count: 0 }
          return { labels: labels[i] as Labels, value: { buckets: { boundaries, counts }, sum, count } } satisfies Point<object>
        }),
      )
    })
  }

  private labelsOf(name: string, series: readonly NativeSeries[]): readonly Labels[] {
    const kept = this.labels.get(name) ?? []
    series.forEach(({ labels }, i) => {
      const old = kept[i]
      if (old === undefined || !isSame(old, labels)) kept[i] = labels
    })
    this.labels.set(name, kept)
    return kept
  }
}
