// [evm], third part: traces, and the cache of traces that are made before anyone asks.
import { boolean, integer, list, offAt, oneWord, or } from '../kinds.ts'
import { bytes, duration } from '../measures.ts'
import { DAY, GIB, HOUR, KIB, MIB, MINUTE, SECOND, setting } from './shared.ts'

/** What a trace without a tracer is called in lists of tracers. */
export const STRUCT_LOGGER = 'structLogger'

/** Names in evm.trace_allowed_tracers. */
export const TRACER_NAMES = [
  STRUCT_LOGGER,
  'callTracer',
  'flatCallTracer',
  'parityTracer',
  'prestateTracer',
  '4byteTracer',
  'noopTracer',
  'muxTracer',
  'erc7562Tracer',
  'keccak256PreimageTracer',
  'opcodeTracer',
] as const

/** Tracers whose results can be made ahead of time. */
export const BAKED_TRACERS = ['callTracer', 'prestateTracer', 'flatCallTracer'] as const

const oneOf = (names: readonly string[]) => list(`a list of ${names.join(', ')}`, (word) => names.includes(word))

/** Settings of traces. */
export const TRACES = {
  'evm.trace_transaction_timeout': setting({
    kind: duration(1, HOUR),
    default: 5 * SECOND,
    unit: 'ms',
    doc: 'Longest run of the trace of one transaction, or of all calls of one debug_traceCallMany together, where the request names no timeout. Waiting for the reader does not count.',
  }),
  'evm.trace_timeout': setting({
    kind: duration(1, DAY),
    default: 5 * MINUTE,
    unit: 'ms',
    doc: 'Longest run of a whole trace call, waiting for the reader included; a longer timeout in the request raises it.',
  }),
  'evm.trace_stall_timeout': setting({
    kind: duration(1, DAY),
    default: 30 * SECOND,
    unit: 'ms',
    doc: 'A client that takes nothing of a streamed answer for this long is cut off.',
  }),
  'evm.max_trace_struct_log_bytes': setting({
    kind: offAt(0, bytes(0, 1024 * GIB)),
    default: 4 * GIB,
    unit: 'bytes',
    doc: 'Most bytes of the struct logs of one transaction, of opcodeTracer too; more ends its trace with an error. 0 is no cap.',
  }),
  'evm.trace_allowed_tracers': setting({
    kind: or('all', oneOf(TRACER_NAMES)),
    default: 'all' as readonly string[] | 'all',
    doc: `Built-in tracers that may be used, within muxTracer too; all is every one. ${STRUCT_LOGGER} is the trace without a tracer. Empty: none.`,
  }),
  'evm.strict_trace_options': setting({
    kind: boolean,
    default: false,
    doc: 'Whether a trace is refused where its configuration has an option that is not known, such as tracerr; else the answer over HTTP carries the header x-hearth-warning.',
  }),
  'evm.trace_allow_js_tracers': setting({
    kind: boolean,
    default: true,
    doc: 'Whether a tracer may be JavaScript: the source of a script, or the name of one such as opcountTracer. Scripts run in child processes without access to anything, as far as the system confines them (evm.trace_js_require_confinement).',
  }),
  'evm.trace_js_workers': setting({
    kind: or('auto', integer(1, 256)),
    default: 'auto' as number | 'auto',
    unit: 'processes',
    doc: 'Child processes that run JavaScript tracers, each one request at a time; auto is one for each processor, two at least. They are started when the first script comes.',
  }),
  'evm.trace_js_queue_size': setting({
    kind: integer(1, 100_000),
    default: 64,
    unit: 'requests',
    doc: 'JavaScript traces that may wait for a process, taken in turn by client; one more is refused with -32005 at once. Waiting counts for the timeout of the trace.',
  }),
  'evm.trace_js_memory_bytes': setting({
    kind: bytes(32 * MIB, 64 * GIB),
    default: 256 * MIB,
    unit: 'bytes',
    doc: 'Memory that a JavaScript tracer may take; more ends it with an error, or its process, which is replaced.',
  }),
  'evm.trace_js_output_bytes': setting({
    kind: bytes(KIB, 256 * MIB),
    default: 64 * MIB,
    unit: 'bytes',
    doc: 'Longest result of a JavaScript tracer for one transaction.',
  }),
  'evm.trace_js_require_confinement': setting({
    kind: oneWord('none', 'system-calls', 'all'),
    default: 'system-calls' as 'none' | 'system-calls' | 'all',
    doc: 'What must confine the processes of JavaScript tracers, or scripts are refused: system-calls is what needs no rights of the node (no new privileges, no capabilities, a list of system calls, limits of resources); all is also namespaces and Landlock, which some containers and kernels refuse; none runs scripts in any case. hearth status says what holds.',
  }),
  'evm.max_concurrent_trace_calls': setting({
    kind: or('auto', offAt(0, integer(0, 100_000))),
    default: 'auto' as number | 'auto',
    doc: 'Traces that run at the same time; more wait their turn, by client. auto is one for each processor but one, and two at least, of which the second runs at the lowest priority; 0 is no limit but that of the threads. A trace that waits for its client has no place among them (workers.parked_traces). What is baked needs no turn.',
  }),
  'evm.max_trace_lookback_blocks': setting({
    kind: offAt(-1, integer(-1, Number.MAX_SAFE_INTEGER)),
    default: 10_000,
    unit: 'blocks',
    doc: 'How far below the head a block may be whose trace needs the state of its height; 0 is the head alone, -1 is no limit. Traces that are baked, or made from the capsule of their block, are served at any depth.',
  }),
  'evm.max_trace_filter_blocks': setting({
    kind: integer(1, Number.MAX_SAFE_INTEGER),
    default: 1_000,
    unit: 'blocks',
    doc: 'Most blocks that one trace_filter searches; a request for more is refused with the range that would fit.',
  }),
  'evm.enable_parallelized_block_trace': setting({
    kind: boolean,
    default: true,
    doc: 'Whether the transactions of one block are traced at the same time, on processors that no other trace uses. It needs the capsule of the block; from history they come one after the other.',
  }),
  'evm.trace_source': setting({
    kind: oneWord('auto', 'history', 'capsule'),
    default: 'auto' as 'auto' | 'history' | 'capsule',
    doc: 'The source of traces of past blocks: history executes the transactions before the requested one on the state of the parent; capsule uses what the block read and wrote when it was committed; auto uses the capsule if the block has one.',
  }),
  'evm.trace_capsule_window_blocks': setting({
    kind: offAt(0, integer(0, Number.MAX_SAFE_INTEGER)),
    default: 0,
    unit: 'blocks',
    doc: 'Newest blocks whose trace capsules are kept; 0 keeps all. Older ones are traced from history, as far as that is kept.',
  }),
  'evm.trace_bake_enabled': setting({
    kind: boolean,
    default: false,
    doc: 'Whether traces of new blocks are made in the background and kept in data/trace_db of the home; for RPC nodes only. Baking begins at the first block after it was enabled; hearth bake makes those of older ones.',
  }),
  'evm.trace_bake_workers': setting({
    kind: integer(1, 1024),
    default: 1,
    unit: 'threads',
    doc: 'Threads that execute blocks again, at low priority.',
  }),
  'evm.trace_bake_queue_size': setting({
    kind: integer(1, 10_000_000),
    default: 4096,
    unit: 'blocks',
    doc: 'Heights that may wait to be baked. A commit never waits for it: a height that finds it full is baked later, when there is nothing else to do.',
  }),
  'evm.trace_bake_tracers': setting({
    kind: list(`a list of at least one of ${BAKED_TRACERS.join(', ')}`, (word) => BAKED_TRACERS.some((name) => name === word), 1),
    default: ['callTracer'] as readonly string[],
    doc: 'Tracers that are baked for each block, all from one execution. One that is added later is baked for the heights of before too.',
  }),
  'evm.trace_bake_window_blocks': setting({
    kind: offAt(0, integer(0, Number.MAX_SAFE_INTEGER)),
    default: 0,
    unit: 'blocks',
    doc: 'Blocks below the head whose baked traces are kept and served; 0 keeps all.',
  }),
  'evm.trace_bake_timeout': setting({
    kind: duration(1, HOUR),
    default: MINUTE,
    unit: 'ms',
    doc: 'Longest time that baking one block may take. One that takes longer is not stored, and tried again later, up to five times.',
  }),
  'evm.trace_bake_use_snapshot': setting({
    kind: boolean,
    default: false,
    doc: 'Whether the state that the newest blocks read and wrote stays in memory for baking; this changes speed only.',
  }),
  'evm.trace_bake_snapshot_window': setting({
    kind: integer(1, 1_000_000),
    default: 64,
    unit: 'blocks',
    doc: 'Number of newest blocks whose reads and writes stay in memory where evm.trace_bake_use_snapshot is true; never more than 256 MiB.',
  }),
  'evm.trace_bake_canonical_configs': setting({
    kind: boolean,
    default: false,
    doc: 'Whether callTracer with withLog and prestateTracer with diffMode are baked beside the plain tracers of evm.trace_bake_tracers, and requests whose tracerConfig means what is baked are served from it.',
  }),
  'evm.trace_cache_hot_bytes': setting({
    kind: offAt(0, bytes(0, 1024 * GIB)),
    default: 128 * MIB,
    unit: 'bytes',
    doc: 'Most memory for baked traces that are kept uncompressed; 0 keeps none.',
  }),
} as const
