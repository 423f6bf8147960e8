// Every instrument of the RPC layer, once. Recording, the scrape page, docs/metrics.md and the
// tests of the dashboards follow from it and from the table of the native core, whose rows have the
// same shape.
import { PASSED_ON_METHODS } from './elsewhere.ts'
import { ERROR_CLASSES } from './errors.ts'
import { CONNECTIONS } from './meter.ts'
import { CODE_CLASSES } from './outcome.ts'
import { REDIRECT_FAILURES } from './redirect.ts'
import { FORWARDED_METHODS } from './submission.ts'
import { METHODS } from './table.ts'

/** Units as OpenTelemetry writes them (UCUM). */
export type Unit = 's' | 'ms' | 'By' | '{count}'

/** A label. Without `values` it is open: a series appears with its value. */
export interface Label {
  readonly key: string
  /** All the values that it takes, but for `later`. */
  readonly values?: readonly string[]
  /** Further values, whose series begin with their first count. */
  readonly later?: readonly string[]
}

/**
 * Where the value of an instrument comes from: `count` is counted by `RequestMeter.count`, `watch`
 * is read for each page from what `Metrics.watch` was given, `derived` is calculated from the
 * samples of requests, from another counter or from how the node was started.
 */
export type Source = 'count' | 'watch' | 'derived'

/** An instrument: what the page shows of it, and with which labels. */
export interface Instrument {
  readonly name: string
  readonly kind: 'counter' | 'gauge' | 'histogram' | 'summary'
  readonly unit: Unit
  /** What is counted or measured, in one sentence. */
  readonly help: string
  readonly labels: readonly Label[]
  /** Upper bounds of the buckets, ascending, in the unit; histograms alone. */
  readonly buckets?: readonly number[]
  /** Quantiles of a summary, from 0 to 1. */
  readonly quantiles?: readonly number[]
  /** A counter whose sample is its name, without `_total`. */
  readonly bare?: true
  /** Kept for old dashboards; `metrics.legacy` switches it off. */
  readonly legacy?: true
}

const row = <const I extends Instrument & { readonly source: Source }>(instrument: I): I => instrument

const connection = { key: 'connection', values: CONNECTIONS } as const
const success = { key: 'success', values: ['true', 'false'] } as const
/** Open: method names and two words, but a series waits for its first request. */
const endpoint: Label = { key: 'endpoint' }

/** The methods that trace, in the order of the method table: a subscription traces too. */
export const TRACE_METHODS: readonly string[] = METHODS.map((m) => m.name).filter(
  (name) => name.startsWith('debug_trace') || name === 'debug_subscribe',
)

/** How a node was started; the label `mode`. */
export const NODE_MODES = ['start', 'dev'] as const
export type NodeMode = (typeof NODE_MODES)[number]

/** What became of a block of hearth follow; the label `verified`. */
export const FOLLOWED = ['proven', 'executed', 'hole'] as const

/** What of a block, or of what proves it, was wrong; the label `field`. */
export const REFUSED_FIELDS = [
  'hash',
  'header',
  'body',
  'transactionsRoot',
  'execution',
  'gasUsed',
  'logsBloom',
  'receiptsRoot',
  'requestsHash',
  'stateRoot',
  'witness',
  'too_large',
  'reorg',
  'other',
] as const

/** The table. */
export const INSTRUMENTS = {
  requests: row({
    name: 'evmrpc_request_latency_seconds',
    kind: 'histogram',
    source: 'derived',
    unit: 's',
    help: 'Time of JSON-RPC requests from the parsed request to the last byte of the answer, queueing included',
    labels: [
      endpoint,
      connection,
      success,
      { key: 'error_class', values: ['', ...Object.keys(ERROR_CLASSES)] },
      { key: 'jsonrpc_code', values: CODE_CLASSES },
    ],
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  }),
  panics: row({
    name: 'evmrpc_panics_total',
    kind: 'counter',
    source: 'derived',
    unit: '{count}',
    help: 'JSON-RPC requests that ended in a panic or an unexpected exception of the node; each one is a defect, and its stack is in the log',
    labels: [],
  }),
  mode: row({
    name: 'node_mode',
    kind: 'gauge',
    source: 'derived',
    unit: '{count}',
    help: '1 for the command that started the node, 0 for the other one: hearth dev makes blocks, hearth start makes none by itself',
    labels: [{ key: 'mode', values: NODE_MODES }],
  }),
  websocketConnects: row({
    name: 'evmrpc_websocket_connects_total',
    kind: 'counter',
    source: 'count',
    unit: '{count}',
    help: 'New WebSocket connections',
    labels: [],
  }),
  redirected: row({
    name: 'evmrpc_redirected_requests_total',
    kind: 'counter',
    source: 'count',
    unit: '{count}',
    help: 'Requests sent to the node of evm.forward_url, by consensus.redirect to a validator, or by hearth follow to an upstream, failures included',
    labels: [{ key: 'endpoint', values: FORWARDED_METHODS, later: PASSED_ON_METHODS }, connection],
  }),
  cosmosQueries: row({
    name: 'cosmos_queries_total',
    kind: 'counter',
    source: 'count',
    unit: '{count}',
    help: 'Queries over REST and gRPC by gRPC name and gRPC status code, 0 for success; a path that is no query has the name unknown',
    labels: [{ key: 'listener' }, { key: 'query' }, { key: 'code' }],
  }),
  redirectFailures: row({
    name: 'evmrpc_redirect_failures_total',
    kind: 'counter',
    source: 'count',
    unit: '{count}',
    help: 'Requests of consensus.redirect that the validator did not answer, or that were not sent because the validator had failed just before',
    labels: [{ key: 'reason', values: REDIRECT_FAILURES }],
  }),
  enginePeers: row({
    name: 'consensus_peers',
    kind: 'gauge',
    source: 'watch',
    unit: '{count}',
    help: 'Peers that CometBFT is connected to; no sample while it does not answer, or without CometBFT',
    labels: [],
  }),
  engineRound: row({
    name: 'consensus_round',
    kind: 'gauge',
    source: 'watch',
    unit: '{count}',
    help: 'Round of the height that CometBFT decides on: 0 where the first proposal is taken',
    labels: [],
  }),
  enginePower: row({
    name: 'consensus_voting_power',
    kind: 'gauge',
    source: 'watch',
    unit: '{count}',
    help: "Voting power of this node's key, 0 for a follower",
    labels: [],
  }),
  engineRestarts: row({
    name: 'consensus_engine_restarts_total',
    kind: 'counter',
    source: 'watch',
    unit: '{count}',
    help: 'Times that a supervised CometBFT was started again since the node started',
    labels: [],
  }),
  followedBlocks: row({
    name: 'follow_blocks_total',
    kind: 'counter',
    source: 'count',
    unit: '{count}',
    help: 'Blocks that hearth follow took since the start: proven up to the state root, executed without it, or kept as holes that the upstream serves',
    labels: [{ key: 'verified', values: FOLLOWED }],
  }),
  followRefused: row({
    name: 'follow_refused_total',
    kind: 'counter',
    source: 'count',
    unit: '{count}',
    help: 'Attempts to take a block of an upstream that were refused, by what was wrong: other rules than here, or an upstream with defects',
    labels: [{ key: 'field', values: REFUSED_FIELDS }],
  }),
  followReorged: row({
    name: 'follow_reorged_blocks_total',
    kind: 'counter',
    source: 'watch',
    unit: '{count}',
    help: 'Blocks that left the chain of hearth follow for another branch since the start',
    labels: [],
  }),
  followFillRounds: row({
    name: 'follow_fill_rounds_total',
    kind: 'counter',
    source: 'watch',
    unit: '{count}',
    help: 'Rounds in which hearth follow fetched what a witness lacked',
    labels: [],
  }),
  followWitnessBytes: row({
    name: 'follow_witness_bytes_total',
    kind: 'counter',
    source: 'watch',
    unit: 'By',
    help: 'Bytes of witnesses that hearth follow received, as text',
    labels: [],
  }),
  followUpstreamHead: row({
    name: 'follow_upstream_head',
    kind: 'gauge',
    source: 'watch',
    unit: '{count}',
    help: 'Number of the newest block of the upstreams; no sample while none answers, or without hearth follow',
    labels: [],
  }),
  followLag: row({
    name: 'follow_lag_blocks',
    kind: 'gauge',
    source: 'watch',
    unit: '{count}',
    help: 'Blocks that this node is behind its upstreams; no sample while none answers, or without hearth follow',
    labels: [],
  }),
  followHoles: row({
    name: 'follow_holes',
    kind: 'gauge',
    source: 'watch',
    unit: '{count}',
    help: 'Blocks of this data directory that could not be executed, which the upstream serves',
    labels: [],
  }),
  followUpstreams: row({
    name: 'follow_upstreams_reached',
    kind: 'gauge',
    source: 'watch',
    unit: '{count}',
    help: 'Upstreams that answer, and whose chain and rules are those of this node',
    labels: [],
  }),
  historicalTraces: row({
    name: 'evmrpc_historical_debug_trace_attempts_total',
    kind: 'counter',
    source: 'count',
    unit: '{count}',
    help: 'Requested traces of blocks further below the head than evm.max_trace_lookback_blocks, served or refused',
    labels: [{ key: 'endpoint', values: TRACE_METHODS }, connection],
  }),
  legacyLatency: row({
    name: 'chain_rpc_request_latency_ms',
    kind: 'summary',
    source: 'derived',
    unit: 'ms',
    help: 'Deprecated, see evmrpc_request_latency_seconds: time of JSON-RPC requests; quantiles over the last one to two minutes',
    labels: [endpoint, connection],
    quantiles: [0.5, 0.9, 0.99],
    legacy: true,
  }),
  legacyRequests: row({
    name: 'chain_rpc_request_counter',
    kind: 'counter',
    source: 'derived',
    unit: '{count}',
    help: 'Deprecated, see the count of evmrpc_request_latency_seconds: JSON-RPC requests',
    labels: [endpoint, connection, success],
    bare: true,
    legacy: true,
  }),
  legacyConnects: row({
    name: 'chain_websocket_connect',
    kind: 'counter',
    source: 'derived',
    unit: '{count}',
    help: 'Deprecated, see evmrpc_websocket_connects_total: new WebSocket connections',
    labels: [],
    bare: true,
    legacy: true,
  }),
}

type Table = typeof INSTRUMENTS

/** The instruments of a source. */
type Of<S extends Source> = { [K in keyof Table]: Table[K] extends { readonly source: S } ? K : never }[keyof Table]

/** The counters that `RequestMeter.count` counts. */
export type Counted = Of<'count'>

/** The instruments whose values are read for each page. */
export type Watched = Of<'watch'>

type LaterOf<L> = L extends { readonly later: readonly (infer V extends string)[] } ? V : never
type ValueOf<L> = L extends { readonly values: readonly (infer V extends string)[] } ? V | LaterOf<L> : string

/** The values of the labels of a counter, in their order. */
export type LabelValues<K extends Counted> = Table[K] extends { readonly labels: infer L extends readonly Label[] }
  ? { readonly [I in keyof L]: ValueOf<L[I]> }
  : never

const entries = Object.entries<Instrument & { readonly source: Source }>(INSTRUMENTS)
const keysOf = (source: Source): string[] => entries.filter(([, row]) => row.source === source).map(([key]) => key)

/** The keys of the counters that `RequestMeter.count` counts. */
export const COUNTED = keysOf('count') as readonly Counted[]

/** The keys of the instruments whose values are read for each page. */
export const WATCHED = keysOf('watch') as readonly Watched[]

/**
 * Name of the series that a page shows for an instrument, without the suffixes of histograms and
 * summaries.
 */
export const sampleName = ({ name, kind, bare }: Instrument): string =>
  kind === 'counter' && bare !== true && !name.endsWith('_total') ? `${name}_total` : name

/**
 * Every combination of the values of labels that are all finite, the last label varying fastest.
 */
export function combinations(labels: readonly Label[]): Record<string, string>[] {
  return labels.reduce<Record<string, string>[]>(
    (all, { key, values = [] }) => all.flatMap((labels) => values.map((value) => ({ ...labels, [key]: value }))),
    [{}],
  )
}
