// Everything outside of [evm]: metrics, threads, the pool.
import { boolean, integer, or } from '../parsers.ts'
import { bytes } from '../units.ts'
import { host, KIB, MIB, port, setting } from './shared.ts'

/** Settings of the node itself. */
export const NODE = {
  'metrics.enabled': setting({ kind: boolean, default: true, doc: 'Whether the node serves its metrics at /metrics.' }),
  'metrics.host': setting({ kind: host, default: '127.0.0.1', doc: 'Address that the metrics page binds.' }),
  'metrics.port': setting({ kind: port, default: 9101, doc: 'Port of the metrics page. 0 takes a free port.' }),
  'metrics.legacy': setting({
    kind: boolean,
    default: true,
    doc: 'Whether the page also has the deprecated metrics chain_rpc_request_counter, chain_rpc_request_latency_ms and chain_websocket_connect.',
  }),
  'metrics.otlp': setting({
    kind: boolean,
    default: false,
    doc: 'Whether metrics are also pushed by OTLP over HTTP, as the variables OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_HEADERS and OTEL_METRIC_EXPORT_INTERVAL say.',
  }),
  'workers.read_threads': setting({
    core: 'workers.read.threads',
    kind: or('auto', integer(1, 1024)),
    default: 'auto' as number | 'auto',
    unit: 'threads',
    doc: 'Number of threads for short reads; auto is one per processor.',
  }),
  'workers.read_queue': setting({
    core: 'workers.read.queue',
    kind: integer(1, 1_000_000),
    default: 4096,
    unit: 'requests',
    doc: 'Maximum number of short reads that wait for a thread; a further one is refused with -32005.',
  }),
  'workers.heavy_threads': setting({
    core: 'workers.heavy.threads',
    kind: or('auto', integer(1, 1024)),
    default: 'auto' as number | 'auto',
    unit: 'threads',
    doc: 'Number of threads for calls, searches and traces; auto is one per processor, at least three.',
  }),
  'workers.heavy_queue': setting({
    core: 'workers.heavy.queue',
    kind: integer(1, 1_000_000),
    default: 1024,
    unit: 'requests',
    doc: 'Maximum number of calls, searches and traces that wait for a thread; a further one is refused with -32005.',
  }),
  'txpool.max_transactions': setting({
    core: 'pool.maxTransactions',
    kind: integer(1, 10_000_000),
    default: 5000,
    unit: 'transactions',
    doc: 'Maximum number of transactions in the pool.',
  }),
  'txpool.max_per_account': setting({
    core: 'pool.maxPerAccount',
    kind: integer(1, 1_000_000),
    default: 64,
    unit: 'transactions',
    doc: 'Maximum number of transactions of one sender in the pool.',
  }),
  'txpool.max_transaction_bytes': setting({
    core: 'pool.maxTransactionBytes',
    kind: bytes(KIB, 16 * MIB),
    default: 128 * KIB,
    unit: 'bytes',
    doc: 'Maximum size of a transaction in the pool, without its blobs.',
  }),
  'txpool.max_bytes': setting({
    core: 'pool.maxBytes',
    kind: bytes(MIB, 1024 * 1024 * MIB),
    default: 128 * MIB,
    unit: 'bytes',
    doc: 'Maximum size of all transactions in the pool together, blobs included.',
  }),
  'txpool.price_bump_percent': setting({
    core: 'pool.priceBumpPercent',
    kind: integer(0, 1000),
    default: 10,
    unit: '%',
    doc: 'Minimum increase of the fees of a transaction that replaces another one.',
  }),
  'txpool.min_tip_wei': setting({
    core: 'pool.minTipWei',
    kind: integer(0, Number.MAX_SAFE_INTEGER),
    default: 0,
    unit: 'wei',
    doc: 'Minimum tip per unit of gas that the pool accepts.',
  }),
} as const
