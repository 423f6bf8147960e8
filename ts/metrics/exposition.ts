// The scrape page in both text formats: Prometheus 0.0.4 and OpenMetrics 1.0.0.
//
// The SDK's own serializer supports neither OpenMetrics nor a summary
// (chain_rpc_request_latency_ms) nor a counter without `_total` (chain_rpc_request_counter,
// chain_websocket_connect), and takes five times as long, so Hearth has its own. All other metrics
// are as that serializer writes them (test/unit/metrics-serializer.test.ts).
import type { DataPoint, MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { type Instrument, sampleName } from '../rpc/instruments.ts'
import { GAUGE, HISTOGRAM, SUM } from './sdk-kinds.ts'
import type { Distribution, Labels } from './series.ts'
import { shownNumber, Writer } from './writer.ts'

/** A text format. */
export type Format = 'prometheus' | 'openmetrics'

/** Content type of each format. */
export const CONTENT_TYPES: Readonly<Record<Format, string>> = {
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
}

/** Words of units, which OpenMetrics shows where a name ends with them. */
const UNIT_WORDS: Readonly<Record<string, string>> = { s: 'seconds', By: 'bytes' }

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
const escapeValue = (text: string): string => escapeHelp(text).replaceAll('"', '\\"')

/**
 * A bucket's bound or a quantile as a label: OpenMetrics writes whole ones with a decimal point.
 */
function bound(value: number, format: Format): string {
  return format === 'openmetrics' && Number.isInteger(value) ? `${value}.0` : shownNumber(value)
}

const pairs = (labels: Labels): string[] => Object.entries(labels).map(([key, value]) => `${key}="${escapeValue(String(value))}"`)
const braced = (all: readonly string[]): string => (all.length === 0 ? '' : `{${all.join(',')}}`)

/**
 * The text that is kept of a series between two pages: everything before the value on each of its
 * lines, including the end of the line before.
 */
interface Kept {
  readonly name: string
  readonly lines: readonly Uint8Array[]
  /** The last text of a histogram, which most of them still have at the next page. */
  shown?: Shown
}

/** The lines of a histogram with the values that they show. */
interface Shown {
  readonly counts: ArrayLike<number>
  readonly sum: number | undefined
  readonly text: Uint8Array
}

/** Whether a text shows these values. */
function shows({ counts, sum }: Shown, { buckets, sum: newSum }: Distribution): boolean {
  if (sum !== newSum || counts.length !== buckets.counts.length) return false
  for (let i = 0; i < counts.length; i++) if (counts[i] !== buckets.counts[i]) return false
  return true
}

const encoder = new TextEncoder()

/**
 * Writes pages of one format. The text before the numbers is made once, as bytes: a page copies it
 * and writes the numbers in between. Strings of this size would be assembled twice, once as text
 * and once as bytes, which costs more than everything else.
 */
export class Exposition {
  private readonly format: Format
  private readonly instruments: ReadonlyMap<string, Instrument>
  private readonly heads = new Map<Instrument, Uint8Array>()
  private readonly kept = new WeakMap<Labels, Kept>()
  private readonly out = new Writer()
  private readonly end: Uint8Array

  constructor(format: Format, instruments: readonly Instrument[]) {
    this.format = format
    this.instruments = new Map(instruments.map((instrument) => [instrument.name, instrument]))
    this.end = encoder.encode(format === 'openmetrics' ? '\n# EOF\n' : '\n')
  }

  /** The whole page, in UTF-8. */
  page({ scopeMetrics }: ResourceMetrics): Uint8Array<ArrayBuffer> {
    try {
      for (const { metrics } of scopeMetrics) {
        for (const metric of metrics) {
          const instrument = this.instruments.get(metric.descriptor.name)
          if (instrument === undefined) throw new Error(`${metric.descriptor.name} is in no table of instruments`)
          this.family(instrument, metric)
        }
      }
      this.out.bytes(this.end)
    } catch (e) {
      // The next page must not begin with a part of this one.
      this.out.take()
      throw e
    }
    // Every piece begins with the end of the line before it; there is none before the first.
    return this.out.take().subarray(1)
  }

  private family(instrument: Instrument, metric: MetricData): void {
    this.out.bytes(this.head(instrument))
    if (metric.dataPointType === HISTOGRAM) {
      for (const point of metric.dataPoints as DataPoint<Distribution>[]) {
        if (instrument.kind === 'summary') this.summary(instrument, point)
        else this.histogram(instrument, point)
      }
    } else if (metric.dataPointType === SUM || metric.dataPointType === GAUGE) {
      for (const { attributes, value } of metric.dataPoints) {
        const { lines } = this.keptOf(instrument, attributes, () => [`${sampleName(instrument)}${braced(pairs(attributes))}`])
        this.sample(lines[0] as Uint8Array, value)
      }
    }
  }

  private sample(line: Uint8Array, value: number): void {
    this.out.bytes(line)
    this.out.number(value)
  }

  private head(instrument: Instrument): Uint8Array {
    const made = this.heads.get(instrument) ?? encoder.encode(this.headText(instrument))
    this.heads.set(instrument, made)
    return made
  }

  /**
   * HELP, TYPE and UNIT. In OpenMetrics the family of a counter has no `_total`, and a counter
   * whose sample has none either is of unknown type.
   */
  private headText(instrument: Instrument): string {
    const { kind, bare, help, unit } = instrument
    const open = this.format === 'openmetrics'
    const sample = sampleName(instrument)
    const family = open && kind === 'counter' && bare !== true ? sample.replace(/_total$/, '') : sample
    const type = open && bare === true ? 'unknown' : kind
    const word = UNIT_WORDS[unit]
    const shown = open && word !== undefined && family.endsWith(`_${word}`) ? `\n# UNIT ${family} ${word}` : ''
    const text = open ? escapeValue(help) : escapeHelp(help)
    return `\n# HELP ${family} ${text}\n# TYPE ${family} ${type}${shown}`
  }

  private histogram(instrument: Instrument, { attributes, value }: DataPoint<Distribution>): void {
    const { boundaries, counts } = value.buckets
    const kept = this.keptOf(instrument, attributes, () => {
      const labels = pairs(attributes)
      const buckets = [...boundaries, Number.POSITIVE_INFINITY].map(
        (le) => `${instrument.name}_bucket${braced([...labels, `le="${bound(le, this.format)}"`])}`,
      )
      return [...buckets, `${instrument.name}_sum${braced(labels)}`, `${instrument.name}_count${braced(labels)}`]
    })
    if (kept.shown !== undefined && shows(kept.shown, value)) {
      this.out.bytes(kept.shown.text)
      return
    }
    const { lines } = kept
    const from = this.out.length
    let total = 0
    for (let i = 0; i <= boundaries.length; i++) {
      total += counts[i] as number
      this.sample(lines[i] as Uint8Array, total)
    }
    this.sample(lines[boundaries.length + 1] as Uint8Array, value.sum as number)
    // The count is that of the last bucket, which is what readers compare it with.
    this.sample(lines[boundaries.length + 2] as Uint8Array, total)
    // A copy of the counts: they may be a part of those of all series at this moment.
    kept.shown = { counts: counts.slice(), sum: value.sum, text: this.out.since(from) }
  }

  private summary(instrument: Instrument, { attributes, value }: DataPoint<Distribution>): void {
    const { name, quantiles = [] } = instrument
    const { lines } = this.keptOf(instrument, attributes, () => {
      const labels = pairs(attributes)
      const shown = quantiles.map((q) => `${name}${braced([...labels, `quantile="${bound(q, this.format)}"`])}`)
      return [...shown, `${name}_sum${braced(labels)}`, `${name}_count${braced(labels)}`]
    })
    const values = [...quantiles.map((_, i) => value.quantiles?.[i] ?? Number.NaN), value.sum as number, value.count]
    for (const [i, v] of values.entries()) this.sample(lines[i] as Uint8Array, v)
  }

  /** What is kept of a series: names and labels of its lines are made at its first page. */
  private keptOf({ name }: Instrument, labels: Labels, make: () => readonly string[]): Kept {
    const old = this.kept.get(labels)
    if (old?.name === name) return old
    const made: Kept = { name, lines: make().map((sample) => encoder.encode(`\n${sample} `)) }
    this.kept.set(labels, made)
    return made
  }
}

/** Media types of a format in an Accept header. */
function formatOf(type: string, parameters: readonly string[]): Format | undefined {
  const version = parameters.map((p) => /^\s*version\s*=\s*"?([^"\s]+)"?\s*$/i.exec(p)?.[1]).find((v) => v !== undefined)
  if (type === 'application/openmetrics-text') return version === undefined || version === '1.0.0' ? 'openmetrics' : undefined
  if (type === 'text/plain') return version === undefined || version === '0.0.4' ? 'prometheus' : undefined
  return type === 'text/*' || type === '*/*' ? 'prometheus' : undefined
}

/**
 * The format that a client prefers (RFC 9110, section 12.5.1); Prometheus text if it accepts
 * neither format by name.
 */
export function negotiateFormat(accept: string | undefined): Format {
  let best: Format = 'prometheus'
  let most = 0
  for (const entry of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = entry.split(';')
    const format = formatOf(type.trim().toLowerCase(), parameters)
    const q = parameters.map((p) => /^\s*q\s*=\s*([\d.]+)\s*$/i.exec(p)?.[1]).find((v) => v !== undefined)
    const weight = q === undefined ? 1 : Number(q)
    // Of two equal weights OpenMetrics wins: it says more.
    if (format !== undefined && (weight > most || (weight === most && weight > 0 && format === 'openmetrics'))) {
      best = format
      most = weight
    }
  }
  return best
}
