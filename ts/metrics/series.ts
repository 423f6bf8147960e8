// Points of an instrument in OpenTelemetry's shape, and the cells that low rates are counted in.
import type { Attributes, HrTime } from '@opentelemetry/api'
import type { DataPoint, Histogram, MetricData } from '@opentelemetry/sdk-metrics'
import { combinations, type Instrument, type Label } from '../rpc/instruments.ts'
import { CUMULATIVE, DOUBLE, GAUGE, HISTOGRAM, SUM } from './sdk-kinds.ts'

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

/** A counter of low rates. */
export interface Cells {
  /** Counts one in the series of these values of the labels, which are in their order. */
  count(values: readonly string[]): void
  points(): Point<number>[]
}

/** The cells of a counter, by whether its labels are all finite. */
export const cellsOf = ({ labels }: Instrument): Cells =>
  labels.every(({ values }) => values !== undefined) ? new ClosedCells(labels) : new OpenCells(labels)

/** What separates the values of labels in the key of a series. */
const SEPARATOR = '\n'

/**
 * A counter whose labels are all finite: every series is there from the start, at zero, except
 * those of values that come later. Other values are not counted.
 */
class ClosedCells implements Cells {
  private readonly keys: readonly Label[]
  private readonly labels: Labels[]
  private readonly places: Map<string, number>
  private readonly values: number[]

  constructor(labels: readonly Label[]) {
    this.keys = labels
    this.labels = combinations(labels)
    this.places = new Map(this.labels.map((series, place) => [Object.values(series).join(SEPARATOR), place]))
    this.values = this.labels.map(() => 0)
  }

  count(values: readonly string[]): void {
    const name = values.join(SEPARATOR)
    const place = this.places.get(name) ?? this.added(name, values)
    if (place !== undefined) this.values[place] = (this.values[place] as number) + 1
  }

  /** The place of a series that begins now; undefined where the table has no such series. */
  private added(name: string, values: readonly string[]): number | undefined {
    const isKnown = this.keys.every(({ values: first = [], later = [] }, i) => [...first, ...later].includes(values[i] as string))
    if (!isKnown) return undefined
    const place = this.labels.push(Object.fromEntries(this.keys.map(({ key }, i) => [key, values[i] as string]))) - 1
    this.values.push(0)
    this.places.set(name, place)
    return place
  }

  points(): Point<number>[] {
    return this.labels.map((labels, i) => ({ labels, value: this.values[i] as number }))
  }
}

/** Maximum number of series of a counter with open labels. */
export const OPEN_SERIES_MAX = 2000

/**
 * A counter with open labels: a series is there from its first count on. Further series than
 * `OPEN_SERIES_MAX` are not counted.
 */
class OpenCells implements Cells {
  private readonly keys: readonly string[]
  private readonly series = new Map<string, { readonly labels: Labels; value: number }>()

  constructor(labels: readonly Label[]) {
    this.keys = labels.map(({ key }) => key)
  }

  count(values: readonly string[]): void {
    const name = values.join(SEPARATOR)
    let found = this.series.get(name)
    if (found === undefined) {
      if (this.series.size >= OPEN_SERIES_MAX) return
      found = { labels: Object.fromEntries(this.keys.map((key, i) => [key, values[i] as string])), value: 0 }
      this.series.set(name, found)
    }
    found.value++
  }

  points(): Point<number>[] {
    return [...this.series.values()].map(({ labels, value }) => ({ labels, value }))
  }
}
