// Points of an instrument in OpenTelemetry's shape, and the cells that low rates are counted in.
import type { Attributes, HrTime } from '@opentelemetry/api'
import type { DataPoint, Histogram, MetricData } from '@opentelemetry/sdk-metrics'
import { CUMULATIVE, DOUBLE, GAUGE, HISTOGRAM, SUM } from './sdk-kinds.ts'
import { combinations, type Instrument } from './table.ts'

/**
 * Labels of a series. One object per series for as long as it lives: the page finds its text by it.
 */
export type Labels = Attributes

/**
 * The value of a histogram; a summary also has its quantiles, which the page shows instead of
 * buckets.
 */
export interface Distribution extends Histogram {
  /** Values at the instrument's quantiles, NaN where nothing was measured lately. */
  readonly quantiles?: readonly number[]
}

/** When the series began and when they are read. */
export interface Interval {
  readonly startTime: HrTime
  readonly endTime: HrTime
}

/** A series at one moment. */
export interface Point<T> {
  readonly labels: Labels
  readonly value: T
}

const descriptor = ({ name, help, unit }: Instrument) => ({ name, description: help, unit, valueType: DOUBLE })

/** One by one: spreading an object costs more than all the rest of a point. */
function dataPoints<T>({ startTime, endTime }: Interval, points: readonly Point<T>[]): DataPoint<T>[] {
  return points.map(({ labels, value }) => ({ startTime, endTime, attributes: labels, value }))
}

/** The points of a counter or a gauge. */
export function numbers(instrument: Instrument, interval: Interval, points: readonly Point<number>[]): MetricData {
  const base = { descriptor: descriptor(instrument), aggregationTemporality: CUMULATIVE }
  return instrument.kind === 'counter'
    ? { ...base, dataPointType: SUM, isMonotonic: true, dataPoints: dataPoints(interval, points) }
    : { ...base, dataPointType: GAUGE, dataPoints: dataPoints(interval, points) }
}

/** The points of a histogram or a summary. */
export function distributions(instrument: Instrument, interval: Interval, points: readonly Point<Distribution>[]): MetricData {
  return {
    descriptor: descriptor(instrument),
    aggregationTemporality: CUMULATIVE,
    dataPointType: HISTOGRAM,
    dataPoints: dataPoints(interval, points),
  }
}

/** A counter whose labels are all finite: every series is there from the start, at zero. */
export class Cells {
  private readonly labels: readonly Labels[]
  private readonly values: Float64Array

  constructor(instrument: Instrument) {
    this.labels = combinations(instrument.labels)
    this.values = new Float64Array(this.labels.length)
  }

  /** Counts one; the series is named by its place among the combinations. */
  count(series = 0): void {
    if (series < 0 || series >= this.values.length) throw new RangeError(`no series ${series} among ${this.values.length}`)
    this.values[series] = (this.values[series] as number) + 1
  }

  points(): Point<number>[] {
    return this.labels.map((labels, i) => ({ labels, value: this.values[i] as number }))
  }
}

/**
 * A counter with open labels: a series is there from its first count on. Further series than the
 * bound are not counted.
 */
export class OpenCells {
  private readonly keys: readonly string[]
  private readonly max: number
  private readonly series = new Map<string, { readonly labels: Labels; value: number }>()

  constructor(keys: readonly string[], max: number) {
    this.keys = keys
    this.max = max
  }

  /** Counts one; the values are those of the labels, in their order. */
  count(values: readonly string[]): void {
    const name = values.join(' ')
    let found = this.series.get(name)
    if (found === undefined) {
      if (this.series.size >= this.max) return
      found = { labels: Object.fromEntries(this.keys.map((key, i) => [key, values[i] as string])), value: 0 }
      this.series.set(name, found)
    }
    found.value++
  }

  points(): Point<number>[] {
    return [...this.series.values()].map(({ labels, value }) => ({ labels, value }))
  }
}
