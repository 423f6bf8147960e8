// The text of the scrape page, and which of its formats a client gets.
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics'
import { describe, expect, it } from 'vitest'
import { Exposition, type Format, negotiateFormat } from '../../ts/metrics/exposition.ts'
import { distributions, numbers } from '../../ts/metrics/series.ts'
import { Writer } from '../../ts/metrics/writer.ts'
import type { Instrument } from '../../ts/rpc/instruments.ts'
import { parseScrape } from './scrape.ts'

const bytesRead: Instrument = {
  name: 'x_read_bytes',
  kind: 'counter',
  unit: 'By',
  help: 'Bytes "read" \\ here',
  labels: [{ key: 'table' }],
}
const connects: Instrument = { name: 'x_connects_total', kind: 'counter', unit: '{count}', help: 'Connections', labels: [] }
const old: Instrument = { name: 'x_old_counter', kind: 'counter', unit: '{count}', help: 'Old', labels: [], bare: true }
const height: Instrument = { name: 'x_height', kind: 'gauge', unit: '{count}', help: 'Height', labels: [] }
const latency: Instrument = {
  name: 'x_latency_seconds',
  kind: 'histogram',
  unit: 's',
  help: 'Latency',
  labels: [{ key: 'ok', values: ['true'] }],
  buckets: [0.005, 1, 2.5],
}
const open: Instrument = { name: 'x_open_latency', kind: 'histogram', unit: 's', help: 'Opening', labels: [], buckets: [1] }
const summary: Instrument = {
  name: 'x_ms',
  kind: 'summary',
  unit: 'ms',
  help: 'Old latency',
  labels: [{ key: 'e' }],
  quantiles: [0.5, 0.99],
}
const TABLE = [bytesRead, connects, old, height, latency, open, summary]

const interval = { startTime: [1, 0] as [number, number], endTime: [2, 0] as [number, number] }
const histogram = (boundaries: number[], counts: number[], sum: number, count: number) => ({ buckets: { boundaries, counts }, sum, count })
const METRICS = {
  scopeMetrics: [
    {
      scope: { name: 'x', version: '1' },
      metrics: [
        numbers(bytesRead, interval, [
          { labels: { table: 'blocks' }, value: 2 ** 53 },
          { labels: { table: 'a"b\\c\nd' }, value: 1.5e-9 },
        ]),
        numbers(connects, interval, [{ labels: {}, value: 3 }]),
        numbers(old, interval, [{ labels: {}, value: 4 }]),
        numbers(height, interval, [{ labels: {}, value: -1 }]),
        distributions(latency, interval, [{ labels: { ok: 'true' }, value: histogram([0.005, 1, 2.5], [2, 0, 1, 4], 12.25, 7) }]),
        distributions(open, interval, [{ labels: {}, value: histogram([1], [0, 0], 0, 0) }]),
        distributions(summary, interval, [
          { labels: { e: 'eth_call' }, value: { ...histogram([], [2], 9, 2), quantiles: [1.5, Number.NaN] } },
        ]),
      ],
    },
  ],
} as unknown as ResourceMetrics

const SAMPLES = (le: string) => ({
  read: 'x_read_bytes_total{table="blocks"} 9007199254740992\nx_read_bytes_total{table="a\\"b\\\\c\\nd"} 1.5e-9\n',
  latency: `x_latency_seconds_bucket{ok="true",le="0.005"} 2
x_latency_seconds_bucket{ok="true",le="${le}"} 2
x_latency_seconds_bucket{ok="true",le="2.5"} 3
x_latency_seconds_bucket{ok="true",le="+Inf"} 7
x_latency_seconds_sum{ok="true"} 12.25
x_latency_seconds_count{ok="true"} 7
`,
  open: `x_open_latency_bucket{le="${le}"} 0\nx_open_latency_bucket{le="+Inf"} 0\nx_open_latency_sum 0\nx_open_latency_count 0\n`,
  summary: `x_ms{e="eth_call",quantile="0.5"} 1.5
x_ms{e="eth_call",quantile="0.99"} NaN
x_ms_sum{e="eth_call"} 9
x_ms_count{e="eth_call"} 2
`,
})

const PROMETHEUS = `# HELP x_read_bytes_total Bytes "read" \\\\ here
# TYPE x_read_bytes_total counter
${SAMPLES('1').read}# HELP x_connects_total Connections
# TYPE x_connects_total counter
x_connects_total 3
# HELP x_old_counter Old
# TYPE x_old_counter counter
x_old_counter 4
# HELP x_height Height
# TYPE x_height gauge
x_height -1
# HELP x_latency_seconds Latency
# TYPE x_latency_seconds histogram
${SAMPLES('1').latency}# HELP x_open_latency Opening
# TYPE x_open_latency histogram
${SAMPLES('1').open}# HELP x_ms Old latency
# TYPE x_ms summary
${SAMPLES('1').summary}`

const OPENMETRICS = `# HELP x_read_bytes Bytes \\"read\\" \\\\ here
# TYPE x_read_bytes counter
# UNIT x_read_bytes bytes
${SAMPLES('1.0').read}# HELP x_connects Connections
# TYPE x_connects counter
x_connects_total 3
# HELP x_old_counter Old
# TYPE x_old_counter unknown
x_old_counter 4
# HELP x_height Height
# TYPE x_height gauge
x_height -1
# HELP x_latency_seconds Latency
# TYPE x_latency_seconds histogram
# UNIT x_latency_seconds seconds
${SAMPLES('1.0').latency}# HELP x_open_latency Opening
# TYPE x_open_latency histogram
${SAMPLES('1.0').open}# HELP x_ms Old latency
# TYPE x_ms summary
${SAMPLES('1.0').summary}# EOF
`

describe('the page', () => {
  it.each([
    ['prometheus', PROMETHEUS],
    ['openmetrics', OPENMETRICS],
  ] as [Format, string][])('in %s', (format, text) => {
    const exposition = new Exposition(format, TABLE)
    expect(new TextDecoder().decode(exposition.page(METRICS))).toBe(text)
    // A second page comes from texts that were kept.
    expect(new TextDecoder().decode(exposition.page(METRICS))).toBe(text)
    expect(parseScrape(text, format).size).toBe(TABLE.length)
  })

  it('refuses a metric that no table has', () => {
    expect(() => new Exposition('prometheus', [height]).page(METRICS)).toThrow('x_read_bytes is in no table')
  })

  it('has nothing of a page before it that failed', () => {
    const exposition = new Exposition('prometheus', [bytesRead])
    expect(() => exposition.page(METRICS)).toThrow('x_connects_total is in no table')
    const [{ scope, metrics }] = METRICS.scopeMetrics as [ResourceMetrics['scopeMetrics'][number]]
    const first = { ...METRICS, scopeMetrics: [{ scope, metrics: metrics.slice(0, 1) }] }
    const text = new TextDecoder().decode(exposition.page(first))
    expect(text).toBe(PROMETHEUS.slice(0, PROMETHEUS.indexOf('# HELP x_connects')))
  })
})

describe('the writer', () => {
  const written = (work: (writer: Writer) => void): string => {
    const writer = new Writer()
    work(writer)
    return new TextDecoder().decode(writer.take())
  }

  it.each([
    [0, '0'],
    [-0, '0'],
    [9, '9'],
    [10, '10'],
    [99, '99'],
    [100, '100'],
    [2 ** 31 - 1, '2147483647'],
    [2 ** 31, '2147483648'],
    [2 ** 53, '9007199254740992'],
    [1e21, '1e+21'],
    [-1, '-1'],
    [0.1, '0.1'],
    [-1.2345678901234567e-123, '-1.2345678901234567e-123'],
    [Number.NaN, 'NaN'],
    [Number.POSITIVE_INFINITY, '+Inf'],
    [Number.NEGATIVE_INFINITY, '-Inf'],
  ])('shows %d as %s', (value, text) => {
    expect(written((writer) => writer.number(value))).toBe(text)
  })

  it('has room for any page, and starts empty again', () => {
    const piece = new TextEncoder().encode('é'.repeat(40_000))
    const writer = new Writer()
    for (const count of [1, 3]) {
      for (let i = 0; i < count; i++) {
        writer.bytes(piece)
        writer.number(i)
      }
      const text = new TextDecoder().decode(writer.take())
      expect(text).toBe(Array.from({ length: count }, (_, i) => 'é'.repeat(40_000) + i).join(''))
    }
  })
})

describe('the strict reader of these tests', () => {
  it.each([
    ['# TYPE a gauge\na 1\n', 'no HELP'],
    ['# HELP a x\n# TYPE a gauge\na_total 1\n', 'not of a'],
    ['# HELP a x\n# TYPE a gauge\na 1\na 2\n', 'twice'],
    ['# HELP a x\n# TYPE a gauge\na 1\n# HELP a x\n# TYPE a gauge\n', 'twice'],
    ['# HELP a x\n# TYPE a gauge\na{b="c",} 1\n', 'no sample'],
    ['# HELP a x\n# TYPE a gauge\na one\n', 'no number'],
    ['# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n', 'out of order'],
    ['# HELP a x\n# TYPE a histogram\na_bucket{le="1"} 1\na_bucket{le="+Inf"} 1\na_sum 1\na_count 2\n', 'count differs'],
  ])('%j is refused', (text, why) => {
    expect(() => parseScrape(text, 'prometheus')).toThrow(why)
  })
})

describe('the format', () => {
  it.each([
    [undefined, 'prometheus'],
    ['', 'prometheus'],
    ['*/*', 'prometheus'],
    ['text/html', 'prometheus'],
    ['application/json', 'prometheus'],
    ['text/plain', 'prometheus'],
    ['text/plain; version=0.0.4; charset=utf-8', 'prometheus'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text; version=1.0.0; charset=utf-8', 'openmetrics'],
    ['Application/OpenMetrics-Text;version="1.0.0"', 'openmetrics'],
    ['application/openmetrics-text; version=0.0.1', 'prometheus'],
    ['application/openmetrics-text;q=0', 'prometheus'],
    ['application/openmetrics-text;q=0.3,text/plain;q=0.5', 'prometheus'],
    ['text/plain;q=0.5,application/openmetrics-text;q=0.5', 'openmetrics'],
    // The Accept headers of Prometheus 2 and 3.
    [
      'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
      'openmetrics',
    ],
    [
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,text/plain;version=1.0.0;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1',
      'openmetrics',
    ],
  ])('for accept %j is %s', (accept, format) => {
    expect(negotiateFormat(accept)).toBe(format)
  })
})
