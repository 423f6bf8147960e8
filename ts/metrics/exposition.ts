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

/** What stands before the values of a series: one text a line. */
interface Prefixes {
  readonly name: string
  readonly lines: readonly string[]
}

/** Writes pages of one format. A series' texts are made once: at a scrape only the numbers are new. */
export class Exposition {
  private readonly format: Format
  private readonly instruments: ReadonlyMap<string, Instrument>
  private readonly prefixes = new WeakMap<Labels, Prefixes>()

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
    if (this.format === 'openmetrics') out.push('# EOF\n')
    return out.join('')
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
        const [line] = this.prefixesOf(instrument, attributes, () => [`${sampleName(instrument)}${braced(pairs(attributes))} `])
        out.push(`${line}${number(value)}\n`)
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
    const shown = open && word !== undefined && family.endsWith(`_${word}`) ? `# UNIT ${family} ${word}\n` : ''
    const text = open ? escapeValue(help) : escapeHelp(help)
    return `# HELP ${family} ${text}\n# TYPE ${family} ${type}\n${shown}`
  }

  private histogram(instrument: Instrument, { attributes, value }: DataPoint<Distribution>, out: string[]): void {
    const { boundaries, counts } = value.buckets
    const lines = this.prefixesOf(instrument, attributes, () => {
      const labels = pairs(attributes)
      const buckets = [...boundaries, Number.POSITIVE_INFINITY].map(
        (le) => `${instrument.name}_bucket${braced([...labels, `le="${bound(le, this.format)}"`])} `,
      )
      return [...buckets, `${instrument.name}_sum${braced(labels)} `, `${instrument.name}_count${braced(labels)} `]
    })
    let total = 0
    for (let i = 0; i <= boundaries.length; i++) {
      total += counts[i] as number
      out.push(`${lines[i]}${total}\n`)
    }
    // The count is that of the last bucket, which is what readers compare it with.
    out.push(`${lines[boundaries.length + 1]}${number(value.sum as number)}\n${lines[boundaries.length + 2]}${total}\n`)
  }

  private summary(instrument: Instrument, { attributes, value }: DataPoint<Distribution>, out: string[]): void {
    const { name, quantiles = [] } = instrument
    const lines = this.prefixesOf(instrument, attributes, () => {
      const labels = pairs(attributes)
      const shown = quantiles.map((q) => `${name}${braced([...labels, `quantile="${bound(q, this.format)}"`])} `)
      return [...shown, `${name}_sum${braced(labels)} `, `${name}_count${braced(labels)} `]
    })
    const values = [...quantiles.map((_, i) => value.quantiles?.[i] ?? Number.NaN), value.sum as number, value.count]
    for (const [i, v] of values.entries()) out.push(`${lines[i]}${number(v)}\n`)
  }

  private prefixesOf({ name }: Instrument, labels: Labels, make: () => readonly string[]): readonly string[] {
    const kept = this.prefixes.get(labels)
    if (kept?.name === name) return kept.lines
    const lines = make()
    this.prefixes.set(labels, { name, lines })
    return lines
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
