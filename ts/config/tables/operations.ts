// Settings for operators: access, logs, memory, waiting times.
import { boolean, integer, type Kind, list, offAt, oneWord, or, text } from '../parsers.ts'
import { bytes, duration } from '../units.ts'
import { GIB, HOUR, host, namespaceList, port, SECOND, setting } from './shared.ts'

/** Listeners of JSON-RPC by the names that evm.auth_listeners has for them. */
export const LISTENER_NAMES = ['http', 'ws', 'debug', 'rest', 'grpc'] as const

/** Levels of the log, the loudest last. */
export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const

/** A level of the log. */
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Parts of the node that write to its log. */
export const LOG_COMPONENTS = ['node', 'rpc', 'server', 'stores', 'chain', 'consensus', 'follow', 'bake', 'memory', 'log'] as const

/** A part of the node that writes to its log. */
export type LogComponent = (typeof LOG_COMPONENTS)[number]

/** `none`, or the path of a file. */
const file = (): Kind<string> => text('none or the path of a file', /^\S.*$/)

const isComponentLevel = (word: string): boolean => {
  const [component, level, ...more] = word.split('=')
  return more.length === 0 && LOG_COMPONENTS.some((name) => name === component) && LOG_LEVELS.some((name) => name === level)
}

/** Settings of operators. */
export const OPERATIONS = {
  'evm.debug_host': setting({
    kind: host,
    default: '127.0.0.1',
    doc: 'Address of the listener for debug methods only, if evm.debug_port is not 0.',
  }),
  'evm.debug_port': setting({
    kind: port,
    default: 0,
    doc: 'Port of a listener that serves only the namespace debug, over HTTP and WebSocket; the other listeners then do not serve it. 0: no such listener; debug is served with the other namespaces.',
  }),
  'evm.auth_token_file': setting({
    kind: file(),
    default: 'none',
    doc: 'File of bearer tokens, one per line, at least 16 characters each. A request with Authorization: Bearer TOKEN is accepted if TOKEN is one of them. Refused where its group may change the file, or other users may read or change it (600 and 640 are accepted). none: no tokens.',
  }),
  'evm.auth_jwt_file': setting({
    kind: file(),
    default: 'none',
    doc: 'File with a secret of 32 bytes in hex, as the Engine API has; a request with Authorization: Bearer JWT is accepted if the JWT is signed with it (HS256) and its iat is within 60 seconds. Refused where its group may change the file, or other users may read or change it (600 and 640 are accepted). none: no JWT.',
  }),
  'evm.auth_listeners': setting({
    kind: list(`a list of ${LISTENER_NAMES.join(', ')}`, (word) => LISTENER_NAMES.some((name) => name === word)),
    default: LISTENER_NAMES as readonly string[],
    doc: 'Listeners that require a token or JWT, if evm.auth_token_file or evm.auth_jwt_file is set: http is the port of HTTP with its WebSocket, ws the port of WebSocket alone, debug that of evm.debug_port, rest and grpc those of a node under CometBFT.',
  }),
  'evm.auth_namespaces': setting({
    kind: namespaceList('*'),
    default: ['*'] as readonly string[],
    doc: 'Namespaces whose methods need a token or JWT on those listeners; * is all of them, and then the body of a request without one is not read. /health and /ready never need one.',
  }),
  'evm.ws_ping_interval': setting({
    kind: offAt(0, duration(0, HOUR)),
    default: 30 * SECOND,
    unit: 'ms',
    doc: 'Time between two pings to a WebSocket client; a client from which nothing has come by the next ping is disconnected. off sends no pings.',
  }),
  'evm.slow_request_threshold': setting({
    kind: offAt(0, duration(0, HOUR)),
    default: SECOND,
    devDefault: 0,
    unit: 'ms',
    doc: 'Requests that take longer are logged with method, connection, client, duration and size of the response, at most 20 in a second, and how many more there were; off logs none.',
  }),
  'evm.slow_request_traces': setting({
    kind: boolean,
    default: false,
    doc: 'Whether these requests are also sent as OpenTelemetry spans by OTLP over HTTP, as the variables OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL and OTEL_EXPORTER_OTLP_HEADERS say.',
  }),
  'workers.heavy_wait': setting({
    core: 'workers.waitMs',
    kind: duration(1, HOUR),
    default: 30 * SECOND,
    unit: 'ms',
    doc: 'Maximum time that a call, search or trace waits for its thread; then it is refused with -32005.',
  }),
  'workers.heavy_nice': setting({
    core: 'workers.heavyNice',
    kind: integer(0, 19),
    default: 10,
    doc: 'Nice value of the threads for calls, searches and traces, so that the system prefers short reads. 0 is the same priority, 19 the lowest; with any but 0 they also have the shortest time slice (Linux 6.12 and later).',
  }),
  'workers.parked_traces': setting({
    core: 'workers.parkedTraces',
    kind: integer(0, 256),
    default: 8,
    unit: 'traces',
    doc: 'Maximum number of traces that wait for slow clients without a slot of evm.max_concurrent_trace_calls; a further one keeps its slot while it waits. Each uses a thread and the memory of its trace, and up to this many may run in addition to the others once their clients read again. evm.max_share_per_client applies to them.',
  }),
  'memory.budget_bytes': setting({
    core: 'memoryBudgetBytes',
    kind: or('auto', offAt(0, bytes(0, 1024 * GIB))),
    default: 'auto' as number | 'auto',
    unit: 'bytes',
    doc: "Maximum resident memory of the process: from 85 % of it on caches shrink, and if that is not enough, long requests are refused. auto is 90 % of the memory of the machine, or of the control group of the process; off disables the check. V8's heap, some tens of MiB of it, is bounded by options of Node only, --max-old-space-size and --max-semi-space-size in NODE_OPTIONS.",
  }),
  'log.level': setting<LogLevel>({
    kind: oneWord(...LOG_LEVELS),
    default: 'info' as LogLevel,
    devDefault: 'warn' as LogLevel,
    doc: 'Minimum level of the lines in the log, which goes to standard error.',
  }),
  'log.levels': setting({
    kind: list(
      `a list of COMPONENT=LEVEL with COMPONENT one of ${LOG_COMPONENTS.join(', ')} and LEVEL one of ${LOG_LEVELS.join(', ')}`,
      isComponentLevel,
    ),
    default: [] as readonly string[],
    doc: 'Levels of components that differ from log.level.',
  }),
  'log.format': setting({
    kind: oneWord('auto', 'json', 'text'),
    default: 'auto' as 'auto' | 'json' | 'text',
    doc: 'Format of the log: json is one object per line; auto is text on a terminal and under hearth dev, json elsewhere.',
  }),
} as const
