// Every setting of the node, once. Flags, environment variables, node.toml, `--help` and docs/settings.md come from here.
import { boolean, integer, integerOr, list, type Setting, text } from './kinds.ts'

const setting = <T>(s: Setting<T>): Setting<T> => s
const port = integer(0, 65_535)
const MIB = 1024 * 1024

/** The namespaces that the node knows; `evm.namespaces` chooses from them. */
export const DEFAULT_NAMESPACES = ['eth', 'net', 'web3', 'debug', 'txpool', 'rpc', 'chain'] as const

/** The table: a key is `SECTION.NAME`; the section may hold dots. */
export const SETTINGS = {
  'evm.http_host': setting({
    kind: text('a host name or an IP address', /^[^\s/]+$/),
    default: '127.0.0.1',
    doc: 'Address that both RPC listeners bind. JSON-RPC has no authentication: 0.0.0.0 opens it to everyone who reaches this machine.',
  }),
  'evm.http_port': setting({
    kind: port,
    default: 8545,
    doc: 'Port of JSON-RPC over HTTP, and over WebSocket by upgrade. 0 takes a free port.',
  }),
  'evm.ws_port': setting({ kind: port, default: 8546, doc: 'Port of JSON-RPC over WebSocket alone. 0 takes a free port.' }),
  'evm.namespaces': setting({
    kind: list('a comma-separated list of namespaces', /^[a-z0-9]+$/),
    default: DEFAULT_NAMESPACES as readonly string[],
    doc: 'Namespaces that are served; a method of another one does not exist.',
  }),
  'evm.cors_origins': setting({
    kind: list('a comma-separated list of origins, or *', /^(\*|[a-z]+:\/\/[^\s,]+)$/),
    default: ['*'] as readonly string[],
    doc: 'Origins of web pages that may read answers, over HTTP and WebSocket; * is every page. Empty: none.',
  }),
  'evm.max_connections': setting({
    kind: integer(1, 1_000_000),
    default: 2000,
    doc: 'Open connections for each listener; one more is closed at once.',
  }),
  'evm.max_request_body_bytes': setting({
    kind: integer(1024, 1024 * MIB),
    default: 5 * MIB,
    unit: 'bytes',
    doc: 'Largest body of an HTTP request; a larger one is answered with 413.',
  }),
  'evm.batch_request_limit': setting({ kind: integer(1, 1_000_000), default: 1000, doc: 'Most requests in one batch.' }),
  'evm.batch_response_max_bytes': setting({
    kind: integer(1024, 1024 * MIB),
    default: 25_000_000,
    unit: 'bytes',
    doc: 'Most bytes of results in the answer to one batch; the requests after that get "response too large".',
  }),
  'evm.batch_concurrency': setting({ kind: integer(1, 1024), default: 8, doc: 'Requests of one batch that run at the same time.' }),
  'evm.ws_max_payload_bytes': setting({
    kind: integer(1024, 1024 * MIB),
    default: 32 * MIB,
    unit: 'bytes',
    doc: 'Largest message that a WebSocket client may send; a larger one closes the connection with 1009.',
  }),
  'evm.ws_max_in_flight': setting({
    kind: integer(1, 100_000),
    default: 64,
    doc: 'Messages of one WebSocket connection that are served at the same time; the node reads on when one is answered and sent.',
  }),
  'evm.gzip_threshold_bytes': setting({
    kind: integer(0, 1024 * MIB),
    default: 16 * 1024,
    unit: 'bytes',
    doc: 'Answers over this size are compressed where the client accepts gzip.',
  }),
  'evm.gzip_level': setting({ kind: integer(1, 9), default: 1, doc: 'Compression level of gzip: 1 is fastest.' }),
  'evm.max_logs': setting({
    kind: integer(1, 10_000_000),
    default: 10_000,
    doc: 'Most logs in one answer of eth_getLogs; more is an error.',
  }),
  'evm.gas_cap': setting({
    kind: integer(21_000, Number.MAX_SAFE_INTEGER),
    default: 50_000_000,
    unit: 'gas',
    doc: 'Most gas that eth_call and eth_estimateGas may use.',
  }),
  'evm.trace_transaction_timeout_ms': setting({
    kind: integer(1, 3_600_000),
    default: 5000,
    unit: 'ms',
    doc: 'Longest run of the trace of one transaction where the request names no timeout. Waiting for the reader does not count.',
  }),
  'evm.trace_timeout_ms': setting({
    kind: integer(1, 86_400_000),
    default: 300_000,
    unit: 'ms',
    doc: 'Longest run of a whole trace call, waiting for the reader included; a longer timeout in the request raises it.',
  }),
  'evm.trace_stall_timeout_ms': setting({
    kind: integer(1, 86_400_000),
    default: 30_000,
    unit: 'ms',
    doc: 'A client that takes nothing of a streamed answer for this long is cut off.',
  }),
  'evm.logs_max_block_range': setting({
    kind: integerOr('none', 1, Number.MAX_SAFE_INTEGER),
    default: 'none' as number | 'none',
    unit: 'blocks',
    doc: 'Most blocks in the range of one eth_getLogs; none is no limit.',
  }),
  'evm.fee_history_max_blocks': setting({
    kind: integer(1, 1_000_000),
    default: 1024,
    unit: 'blocks',
    doc: 'Most blocks in one eth_feeHistory; a longer request is shortened.',
  }),
  'evm.tx_fee_cap_gwei': setting({
    kind: integerOr('none', 1, 100_000_000_000),
    default: 1_000_000_000 as number | 'none',
    unit: 'gwei',
    doc: 'Highest fee (gas limit times price) of a transaction that eth_sendRawTransaction takes; none is no cap. The default is one ether.',
  }),
  'evm.allow_unprotected_txs': setting({
    kind: boolean,
    default: false,
    doc: 'Whether eth_sendRawTransaction takes legacy transactions without a chain id (EIP-155).',
  }),
  'workers.read_threads': setting({
    kind: integerOr('auto', 1, 1024),
    default: 'auto' as number | 'auto',
    doc: 'Threads for short reads; auto is one a processor.',
  }),
  'workers.read_queue': setting({
    kind: integer(1, 1_000_000),
    default: 4096,
    doc: 'Short reads that may wait for a thread; one more is refused as busy.',
  }),
  'workers.heavy_threads': setting({
    kind: integerOr('auto', 1, 1024),
    default: 'auto' as number | 'auto',
    doc: 'Threads for calls, searches and traces; auto is one a processor.',
  }),
  'workers.heavy_queue': setting({
    kind: integer(1, 1_000_000),
    default: 1024,
    doc: 'Calls, searches and traces that may wait for a thread; one more is refused as busy.',
  }),
  'metrics.enabled': setting({ kind: boolean, default: true, doc: 'Whether the node serves its metrics at /metrics.' }),
  'metrics.host': setting({
    kind: text('a host name or an IP address', /^[^\s/]+$/),
    default: '127.0.0.1',
    doc: 'Address that the metrics page binds.',
  }),
  'metrics.port': setting({ kind: port, default: 9101, doc: 'Port of the metrics page. 0 takes a free port.' }),
  'metrics.legacy': setting({
    kind: boolean,
    default: true,
    doc: 'Whether the page also has chain_rpc_request_counter, chain_rpc_request_latency_ms and chain_websocket_connect, which are on their way out.',
  }),
  'state-commit.flatkv.enable-kvdb-metrics': setting({
    kind: boolean,
    default: true,
    hidden: true,
    doc: 'Whether the page has the internal metrics of RocksDB, for every data DB of the state store; wins over EnableMetrics of a single DB.',
  }),
  'storage.fsync': setting({
    kind: text('block, interval:<ms> or none', /^(block|none|interval:[1-9]\d{0,8})$/),
    default: 'interval:200',
    doc: 'When a commit is forced to the disk: with each block, every so many milliseconds, or when the system likes. An acknowledged commit survives the death of the process in every mode; a power cut may lose what is not forced yet.',
  }),
  'storage.cache_mib': setting({
    kind: integer(8, 1_048_576),
    default: 256,
    unit: 'MiB',
    doc: 'Memory for cached blocks of the state database.',
  }),
  'txpool.max_transactions': setting({ kind: integer(1, 10_000_000), default: 5000, doc: 'Transactions that the pool holds.' }),
  'txpool.max_per_account': setting({ kind: integer(1, 1_000_000), default: 64, doc: 'Transactions that the pool holds of one sender.' }),
  'txpool.max_transaction_bytes': setting({
    kind: integer(1024, 16 * MIB),
    default: 128 * 1024,
    unit: 'bytes',
    doc: 'Largest transaction that the pool takes, without its blobs.',
  }),
  'txpool.max_bytes': setting({
    kind: integer(MIB, 1024 * 1024 * MIB),
    default: 128 * MIB,
    unit: 'bytes',
    doc: 'Size of all transactions in the pool together, blobs included.',
  }),
  'txpool.price_bump_percent': setting({
    kind: integer(0, 1000),
    default: 10,
    unit: '%',
    doc: 'How much more a transaction must offer than the one that it replaces.',
  }),
  'txpool.min_tip_wei': setting({
    kind: integer(0, Number.MAX_SAFE_INTEGER),
    default: 0,
    unit: 'wei',
    doc: 'Lowest tip for a unit of gas that the pool takes.',
  }),
  'dev.gas_limit': setting({
    kind: integer(1_000_000, 1_000_000_000_000),
    default: 30_000_000,
    unit: 'gas',
    doc: 'Gas limit of every block of the dev chain.',
  }),
} as const

/** A key of the table. */
export type SettingKey = keyof typeof SETTINGS

/** The value of each setting by its key. */
export type Settings = { readonly [K in SettingKey]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never }

/** All keys, in the order of the table. */
export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[]

/** Whether a text is a key of the table. */
export const isSettingKey = (key: string): key is SettingKey => Object.hasOwn(SETTINGS, key)

/** Name of the environment variable of a setting: `evm.http_port` is `HEARTH_EVM_HTTP_PORT`. */
export const environmentName = (key: string): string => `HEARTH_${key.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()}`
