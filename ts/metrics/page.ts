// The page docs/metrics.md: every instrument of both tables.

import { INSTRUMENTS, type Instrument, type Label, sampleName } from '../rpc/instruments.ts'
import { parseCatalog } from './native.ts'

const UNITS: Readonly<Record<Instrument['unit'], string>> = { s: 'seconds', ms: 'milliseconds', By: 'bytes', '{count}': '' }

/**
 * Groups of the page: a prefix of names, and a title and text. Every instrument is in the first
 * group that matches.
 */
const GROUPS: readonly (readonly [prefix: string, title: string, text: string])[] = [
  [
    'evmrpc_',
    'JSON-RPC',
    'A request is one sample, and so is each element of a batch: also those that do not read, name no method or are refused. What HTTP refuses itself (404, 405, 408, 413, 415) is no request. Time runs from the parsed request to the last byte of the answer. `endpoint` is a name of the method table, `unknown` for any other name, `invalid` where no method can be read. A series of an endpoint begins with its first request; everything else is there from the first scrape. See [errors.md](errors.md) for `error_class` and `jsonrpc_code`.',
  ],
  [
    'chain_',
    'Deprecated',
    'The former names of the metrics above, recorded in addition. `metrics.legacy = false` removes them from the page. OpenMetrics has no counters without `_total`: the two are of type `unknown` there.',
  ],
  ['flatkv_', 'State store', 'The flat key-value store of the state.'],
  [
    'litt_',
    'Tables',
    'The segment stores of blocks, receipts and everything else that is kept in bulk. A series of a table begins when it is opened.',
  ],
  [
    'rocksdb_',
    'RocksDB',
    'Internals of the database below the state store. `state-commit.flatkv.enable-kvdb-metrics = false` removes them from the page.',
  ],
  ['', 'Others', ''],
]

const labelText = ({ key, values, later = [] }: Label): string => {
  if (values === undefined) return `\`${key}\``
  const shown = values.map((value) => (value === '' ? '""' : value)).join(', ')
  return `\`${key}\`: ${shown}${later.length === 0 ? '' : `; from their first request on: ${later.join(', ')}`}`
}

/**
 * The sets of bounds in the order of their first use: histograms share them, so the page names the
 * sets by letters.
 */
function bucketSets(instruments: readonly Instrument[]): Map<string, string> {
  const sets = new Map<string, string>()
  for (const { buckets = [] } of instruments) {
    const bounds = buckets.join(', ')
    if (bounds !== '' && !sets.has(bounds)) sets.set(bounds, String.fromCharCode(0x41 + sets.size))
  }
  return sets
}

function kindText({ kind, buckets = [], quantiles = [] }: Instrument, sets: ReadonlyMap<string, string>): string {
  if (kind === 'histogram') return `histogram ${sets.get(buckets.join(', '))}`
  return kind === 'summary' ? `summary ${quantiles.join(', ')}` : kind
}

/**
 * What an operator should look at first, in this order: the sample or the query over it, and its
 * meaning.
 */
export const FIRST: readonly (readonly [instrument: string, query: string, meaning: string])[] = [
  ['', '`up{job="hearth"}`', 'Whether the node answers scrapes at all; Prometheus records it.'],
  ['evmrpc_panics_total', '`evmrpc_panics_total`', 'Requests that ended in a panic or an unexpected exception. Must be 0.'],
  [
    'evmrpc_request_latency_seconds',
    '`rate(evmrpc_request_latency_seconds_count[5m])` by `endpoint`',
    'Load: requests a second. With `success="false"`, by `error_class` and `jsonrpc_code`: failures.',
  ],
  [
    'evmrpc_request_latency_seconds',
    '`histogram_quantile(0.99, …evmrpc_request_latency_seconds_bucket…)` by `endpoint`',
    'How long requests take, waiting for a thread included. Leave out `debug_trace.*`, which takes long on purpose.',
  ],
  [
    'flatkv_current_version',
    '`flatkv_current_version`',
    'Height of the head. On nodes whose `node_mode{mode="start"}` is 1 it rises with blocks of an import, of a consensus client, of CometBFT or of a followed node.',
  ],
  [
    'flatkv_commit_latency',
    '`flatkv_commit_latency_count{success="false"}`',
    'Failed commits, because of the disk or of damaged data. Must be 0.',
  ],
  ['rocksdb_background_errors', '`rocksdb_background_errors`', 'Flushes and compactions that failed. Must be 0.'],
  [
    'rocksdb_pending_compaction_bytes',
    '`rocksdb_pending_compaction_bytes`',
    'Whether the disk keeps up with what is written: it must not grow for hours.',
  ],
  [
    'node_memory_used_bytes',
    '`node_memory_used_bytes / node_memory_budget_bytes`',
    'Memory: from 85 % on caches shrink, at 100 % long requests are refused.',
  ],
  ['bake_lag_blocks', '`bake_lag_blocks`', 'How far baked traces are behind the head, where baking is on.'],
]

/** The page docs/metrics.md out of the table here and the core's (JSON). */
export function metricsPage(catalog: string): string {
  const all: readonly Instrument[] = [...Object.values(INSTRUMENTS), ...parseCatalog(catalog)]
  const sets = bucketSets(all)
  const lines = [
    '# Metrics',
    '',
    'Generated from `ts/rpc/instruments.ts` and the table of `crates/metrics` by `npm run docs`. Served at `/metrics` on `metrics.host` and',
    '`metrics.port` (see [settings.md](settings.md)), in OpenMetrics 1.0.0 or Prometheus text 0.0.4, as the Accept header requests. Counters show as',
    'the name given here; a histogram shows as its name with `_bucket`, `_sum` and `_count`.',
    '',
    'The metrics belong to an OpenTelemetry MeterProvider, which is the global one of the process unless it has another one: metrics of other meters',
    'are at the end of the page, which is then Prometheus text. `metrics.otlp` pushes all metrics by OTLP over HTTP to the collector of',
    '`OTEL_EXPORTER_OTLP_ENDPOINT` every `OTEL_METRIC_EXPORT_INTERVAL` milliseconds (60000). The other variables `OTEL_EXPORTER_OTLP_*` hold as in',
    'every OpenTelemetry program, and `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` name the node. `OTEL_EXPORTER_OTLP_PROTOCOL` is',
    '`http/protobuf` or `http/json`. `evm.slow_request_traces` sends slow requests as spans to the same collector.',
    '',
    'Dashboards for Grafana and alert rules for Prometheus are in [ts/metrics/dashboards](../ts/metrics/dashboards); [alerts.md](alerts.md) says',
    'what to do about each alert, and [examples/prometheus.yml](examples/prometheus.yml) is a configuration to begin with.',
    '',
    '## The ten to look at first',
    '',
    '| what | what it says |',
    '|---|---|',
    ...FIRST.map(([, query, meaning]) => `| ${query} | ${meaning} |`),
  ]
  const rest = new Set(all)
  for (const [prefix, title, text] of GROUPS) {
    const rows = [...rest].filter(({ name }) => name.startsWith(prefix))
    if (rows.length === 0) continue
    lines.push('', `## ${title}`, '')
    if (text !== '') lines.push(text, '')
    lines.push('| metric | type | unit | labels | meaning |', '|---|---|---|---|---|')
    for (const row of rows) {
      rest.delete(row)
      const labels = row.labels.map(labelText).join('; ')
      lines.push(`| \`${sampleName(row)}\` | ${kindText(row, sets)} | ${UNITS[row.unit]} | ${labels} | ${row.help}. |`)
    }
  }
  lines.push('', '## Buckets', '', '| set | upper bounds, in the unit of the histogram |', '|---|---|')
  for (const [bounds, letter] of sets) lines.push(`| ${letter} | ${bounds} |`)
  return `${lines.join('\n')}\n`
}
