// [evm], first part: where the node listens, to whom, and for how long.
import { boolean, integer, list, offAt } from '../kinds.ts'
import { bytes, duration } from '../measures.ts'
import { DAY, GIB, HOUR, host, KIB, MIB, MINUTE, methods, networks, origins, port, SECOND, setting } from './shared.ts'

/** The namespaces that the node knows; `evm.namespaces` chooses from them. */
export const DEFAULT_NAMESPACES = ['eth', 'net', 'web3', 'debug', 'txpool', 'rpc', 'chain'] as const

/** Settings of the RPC listeners. */
export const LISTENERS = {
  'evm.http_enabled': setting({ kind: boolean, default: true, doc: 'Whether JSON-RPC is served over HTTP.' }),
  'evm.http_host': setting({
    kind: host,
    default: '127.0.0.1',
    doc: 'Address that the HTTP listener binds. 0.0.0.0 opens it to everyone who reaches this machine, unless evm.auth_token_file or evm.auth_jwt_file asks who that is.',
  }),
  'evm.http_port': setting({
    kind: port,
    default: 8545,
    doc: 'Port of JSON-RPC over HTTP, and over WebSocket by upgrade where evm.ws_enabled is true. 0 takes a free port.',
  }),
  'evm.ws_enabled': setting({ kind: boolean, default: true, doc: 'Whether JSON-RPC is served over WebSocket, on either port.' }),
  'evm.ws_host': setting({ kind: host, default: '127.0.0.1', doc: 'Address that the listener for WebSocket alone binds.' }),
  'evm.ws_port': setting({ kind: port, default: 8546, doc: 'Port of JSON-RPC over WebSocket alone. 0 takes a free port.' }),
  'evm.namespaces': setting({
    kind: list('a list of namespaces', (word) => /^[a-z0-9]+$/.test(word)),
    default: DEFAULT_NAMESPACES as readonly string[],
    doc: 'Namespaces that are served; a method of another one does not exist.',
  }),
  'evm.deny_list': setting({
    kind: methods,
    default: [] as readonly string[],
    doc: 'Methods that are answered as if they did not exist, by exact name, over HTTP and WebSocket.',
  }),
  'evm.cors_origins': setting({
    kind: origins,
    default: [] as readonly string[],
    devDefault: ['*'],
    doc: 'Origins of web pages that may read answers over HTTP; * is every page. Empty: none.',
  }),
  'evm.ws_origins': setting({
    kind: origins,
    default: ['*'] as readonly string[],
    doc: 'Origins of web pages that may open a WebSocket; * is every page. Empty: none. Programs send no origin and are not asked for one.',
  }),
  'evm.allowed_hosts': setting({
    kind: list('a list of host names, or *', (word) => /^(\*|[a-zA-Z0-9._-]+)$/.test(word)),
    default: ['localhost'] as readonly string[],
    doc: 'Host names that the node may be asked under, without port; IP addresses always are. * is every name. It keeps web pages from reaching the node through a name of theirs.',
  }),
  'evm.read_timeout': setting({
    kind: duration(SECOND, HOUR),
    default: 30 * SECOND,
    unit: 'ms',
    doc: 'Longest time for a whole request to arrive, headers and body.',
  }),
  'evm.read_header_timeout': setting({
    kind: duration(SECOND, HOUR),
    default: 30 * SECOND,
    unit: 'ms',
    doc: 'Longest time for the headers of a request to arrive; evm.read_timeout where that is shorter.',
  }),
  'evm.write_timeout': setting({
    kind: duration(SECOND, HOUR),
    default: 30 * SECOND,
    unit: 'ms',
    doc: 'A client that takes nothing of an answer for this long is cut off. Time in which it takes some does not count, nor does the time until there is an answer. Streamed traces: evm.trace_stall_timeout.',
  }),
  'evm.idle_timeout': setting({
    kind: duration(SECOND, DAY),
    default: 2 * MINUTE,
    unit: 'ms',
    doc: 'How long an HTTP connection without a request is kept.',
  }),
  'evm.shutdown_timeout': setting({
    kind: duration(0, HOUR),
    default: 10 * SECOND,
    unit: 'ms',
    doc: 'Longest time for the answers that are under way when the node is asked to stop; what is left then is cut off.',
  }),
  'evm.shutdown_delay': setting({
    kind: duration(0, HOUR),
    default: 250,
    devDefault: 0,
    unit: 'ms',
    doc: 'How long the listeners go on serving after the node was asked to stop, while /ready says 503 and every answer ends its connection: time for a load balancer to look away. Take more than the time between two of its probes.',
  }),
  'evm.ready_max_head_age': setting({
    kind: offAt(0, duration(0, 365 * DAY)),
    default: 0,
    unit: 'ms',
    doc: '/ready says 503 while the head is older than this; off does not look at it.',
  }),
  'evm.max_open_connections': setting({
    kind: integer(1, 1_000_000),
    default: 2000,
    doc: 'Open connections for each listener; one more is closed at once.',
  }),
  'evm.max_request_body_bytes': setting({
    kind: bytes(KIB, GIB),
    default: 5 * MIB,
    devDefault: 128 * MIB,
    unit: 'bytes',
    doc: 'Largest body of an HTTP request; a larger one is answered with 413.',
  }),
  'evm.max_request_values': setting({
    kind: integer(1000, 100_000_000),
    default: 50_000,
    devDefault: 1_000_000,
    unit: 'values',
    doc: 'Most array elements and object members in one request or batch, all levels together; more is refused before it is parsed. Parsing takes up to a microsecond for each, in which no other client is served.',
  }),
  'evm.max_concurrent_request_bytes': setting({
    kind: offAt(0, bytes(0, 1024 * GIB)),
    default: 128 * MIB,
    unit: 'bytes',
    doc: 'Most bytes of request bodies that are in memory at the same time; 0 is no limit.',
  }),
  'evm.body_read_idle_timeout': setting({
    kind: offAt(0, duration(0, HOUR)),
    default: 10 * SECOND,
    unit: 'ms',
    doc: 'A client that sends nothing of its request body for this long is answered with 408; off leaves it to evm.read_timeout.',
  }),
  'evm.ws_admission_timeout': setting({
    kind: duration(0, HOUR),
    default: 30 * SECOND,
    unit: 'ms',
    doc: 'How long a WebSocket message waits for room under evm.max_concurrent_request_bytes before it is refused.',
  }),
  'evm.batch_request_limit': setting({ kind: integer(1, 1_000_000), default: 1000, doc: 'Most requests in one batch.' }),
  'evm.batch_response_max_size': setting({
    kind: bytes(KIB, GIB),
    default: 25_000_000,
    unit: 'bytes',
    doc: 'Most bytes of results in the answer to one batch; the requests after that get "response too large".',
  }),
  'evm.batch_concurrency': setting({ kind: integer(1, 1024), default: 8, doc: 'Requests of one batch that run at the same time.' }),
  'evm.ws_max_payload_bytes': setting({
    kind: bytes(KIB, GIB),
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
    kind: bytes(0, GIB),
    default: 16 * KIB,
    unit: 'bytes',
    doc: 'Answers over this size are compressed where the client accepts gzip.',
  }),
  'evm.gzip_level': setting({ kind: integer(1, 9), default: 1, doc: 'Compression level of gzip: 1 is fastest.' }),
  'evm.rate_limiting_enabled': setting({
    kind: boolean,
    default: false,
    doc: 'Whether requests are counted and limited by the address of the client.',
  }),
  'evm.ip_rate_limit_rps': setting({
    kind: integer(1, 1_000_000),
    default: 200,
    unit: 'requests/s',
    doc: 'Requests a second that an address may send in the long run; each request of a batch counts.',
  }),
  'evm.ip_rate_limit_burst': setting({
    kind: integer(1, 10_000_000),
    default: 1000,
    unit: 'requests',
    doc: 'Requests that an address may send at once. Where rate limiting is on, not less than evm.batch_request_limit.',
  }),
  'evm.trusted_proxy_cidrs': setting({
    kind: networks,
    default: [] as readonly string[],
    doc: 'Networks of proxies whose X-Forwarded-For names the client.',
  }),
} as const
