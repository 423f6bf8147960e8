// The scrape page in both text formats: Prometheus 0.0.4 and OpenMetrics 1.0.0.
//
// The SDK's own serializer knows neither OpenMetrics nor summaries nor a counter without `_total`, so this one is ours.
import type { DataPoint, MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { DataPointType } from '@opentelemetry/sdk-metrics'
import type { Distribution, Labels } from './series.ts'
import { type Instrument, sampleName } from './table.ts'

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

/** A number as both formats write it. */
function number(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

/** A bucket's bound or a quantile as a label: OpenMetrics writes whole ones with a decimal point. */
function bound(value: number, format: Format): string {
  return format === 'openmetrics' && Number.isInteger(value) ? `${value}.0` : number(value)
}

const pairs = (labels: Labels): string[] => Object.entries(labels).map(([key, value]) => `${key}="${escapeValue(String(value))}"`)
const braced = (all: readonly string[]): string => (all.length === 0 ? '' : `{${all.join(',')}}`)

/** What is kept of a series between two pages. */
interface Kept {
  readonly name: string
  /** What stands before the value on each line, the end of the line before included. */
  readonly lines: readonly string[]
  /** The whole text of a histogram when it had this count and this sum. */
  text: string
  count: number
  sum: number
}

/**
 * Writes pages of one format. What stands before the numbers is made once, and a histogram that did not move keeps its whole text: most of
 * them stand still between two scrapes. Pieces are joined once, for strings that are put together twice cost more than all the rest.
 */
export class Exposition {
  private readonly format: Format
  private readonly instruments: ReadonlyMap<string, Instrument>
  private readonly kept = new WeakMap<Labels, Kept>()

  constructor(format: Format, instruments: readonly Instrument[]) {
    this.format = format
    this.instruments = new Map(instruments.map((instrument) => [instrument.name, instrument]))
  }

  /** The whole page. */
  page({ scopeMetrics }: ResourceMetrics): string {
    const out: string[] = []
    for (const { metrics } of scopeMetrics) {
      for (const metric of metrics) {
        const instrument = this.instruments.get(metric.descriptor.name)
        if (instrument === undefined) throw new Error(`${metric.descriptor.name} is in no table of instruments`)
        this.family(instrument, metric, out)
      }
    }
    out.push(this.format === 'openmetrics' ? '\n# EOF\n' : '\n')
    // Every piece begins with the end of the line before it; there is none before the first.
    return out.join('').slice(1)
  }

  private family(instrument: Instrument, metric: MetricData, out: string[]): void {
    out.push(this.head(instrument))
    if (metric.dataPointType === DataPointType.HISTOGRAM) {
      for (const point of metric.dataPoints as DataPoint<Distribution>[]) {
        if (instrument.kind === 'summary') this.summary(instrument, point, out)
        else this.histogram(instrument, point, out)
      }
    } else if (metric.dataPointType === DataPointType.SUM || metric.dataPointType === DataPointType.GAUGE) {
      for (const { attributes, value } of metric.dataPoints) {
        const { lines } = this.keptOf(instrument, attributes, () => [`\n${sampleName(instrument)}${braced(pairs(attributes))} `])
        out.push(lines[0] as string, number(value))
      }
    }
  }

  /** HELP, TYPE and UNIT. In OpenMetrics a counter's family has no `_total`, and one whose sample has none either is of unknown type. */
  private head(instrument: Instrument): string {
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

  private histogram(instrument: Instrument, { attributes, value }: DataPoint<Distribution>, out: string[]): void {
    const { boundaries, counts } = value.buckets
    const kept = this.keptOf(instrument, attributes, () => {
      const labels = pairs(attributes)
      const buckets = [...boundaries, Number.POSITIVE_INFINITY].map(
        (le) => `\n${instrument.name}_bucket${braced([...labels, `le="${bound(le, this.format)}"`])} `,
      )
      return [...buckets, `\n${instrument.name}_sum${braced(labels)} `, `\n${instrument.name}_count${braced(labels)} `]
    })
    if (kept.count !== value.count || kept.sum !== value.sum) {
      const pieces: string[] = []
      let total = 0
      for (let i = 0; i <= boundaries.length; i++) {
        total += counts[i] as number
        pieces.push(kept.lines[i] as string, String(total))
      }
      const [sum, count] = kept.lines.slice(boundaries.length + 1) as [string, string]
      // The count is that of the last bucket, which is what readers compare it with.
      pieces.push(sum, number(value.sum as number), count, String(total))
      kept.text = pieces.join('')
      kept.count = value.count
      kept.sum = value.sum as number
    }
    out.push(kept.text)
  }

  private summary(instrument: Instrument, { attributes, value }: DataPoint<Distribution>, out: string[]): void {
    const { name, quantiles = [] } = instrument
    const { lines } = this.keptOf(instrument, attributes, () => {
      const labels = pairs(attributes)
      const shown = quantiles.map((q) => `\n${name}${braced([...labels, `quantile="${bound(q, this.format)}"`])} `)
      return [...shown, `\n${name}_sum${braced(labels)} `, `\n${name}_count${braced(labels)} `]
    })
    const values = [...quantiles.map((_, i) => value.quantiles?.[i] ?? Number.NaN), value.sum as number, value.count]
    for (const [i, v] of values.entries()) out.push(lines[i] as string, number(v))
  }

  private keptOf({ name }: Instrument, labels: Labels, make: () => readonly string[]): Kept {
    const old = this.kept.get(labels)
    if (old?.name === name) return old
    const kept = { name, lines: make(), text: '', count: -1, sum: Number.NaN }
    this.kept.set(labels, kept)
    return kept
  }
}

/** Media types of a format in an Accept header. */
function formatOf(type: string, parameters: readonly string[]): Format | undefined {
  const version = parameters.map((p) => /^\s*version\s*=\s*"?([^"\s]+)"?\s*$/i.exec(p)?.[1]).find((v) => v !== undefined)
  if (type === 'application/openmetrics-text') return version === undefined || version === '1.0.0' ? 'openmetrics' : undefined
  if (type === 'text/plain') return version === undefined || version === '0.0.4' ? 'prometheus' : undefined
  return type === 'text/*' || type === '*/*' ? 'prometheus' : undefined
}

/** The format that a client likes best (RFC 9110, section 12.5.1); Prometheus text where it names none of ours. */
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
