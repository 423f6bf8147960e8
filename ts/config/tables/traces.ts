// [evm], third part: traces, and the cache of traces that are computed ahead of requests.
import { boolean, integer, list, offAt, oneWord, or } from '../parsers.ts'
import { bytes, duration } from '../units.ts'
import { DAY, GIB, HOUR, KIB, MIB, MINUTE, SECOND, setting } from './shared.ts'
import { TRACER_TABLE } from './tracers.ts'

/** What a trace without a tracer is called in lists of tracers. */
export const STRUCT_LOGGER = 'structLogger'

/** Names in evm.trace_allowed_tracers. */
export const TRACER_NAMES: readonly string[] = [STRUCT_LOGGER, ...TRACER_TABLE.map(({ name }) => name)]

const bakedAs = (field: 'tracers' | 'furtherTracers'): readonly string[] =>
  TRACER_TABLE.filter(({ baked }) => baked === field).map(({ name }) => name)

/** Tracers whose results can be made ahead of time. */
const BAKED_TRACERS = bakedAs('tracers')

/** Tracers that can be baked beside them. */
const FURTHER_BAKED_TRACERS = bakedAs('furtherTracers')

const oneOf = (names: readonly string[]) => list(`a list of ${names.join(', ')}`, (word) => names.includes(word))

/** Settings of traces. */
export const TRACES = {
  'evm.trace_transaction_timeout': setting({
    kind: duration(1, HOUR),
    default: 5 * SECOND,
    unit: 'ms',
    doc: 'Maximum duration of the trace of one transaction, or of all calls of one debug_traceCallMany together, if the request names no timeout. Waiting for the client does not count.',
  }),
  'evm.trace_timeout': setting({
    core: 'rpc.traceTimeoutMs',
    kind: duration(1, DAY),
    default: 5 * MINUTE,
    unit: 'ms',
    doc: 'Maximum duration of a whole trace request, waiting for the client included; a longer timeout in the request raises it.',
  }),
  'evm.trace_stall_timeout': setting({
    kind: duration(1, DAY),
    default: 30 * SECOND,
    unit: 'ms',
    doc: 'Time after which a client that reads nothing of a streamed response is disconnected.',
  }),
  'evm.max_trace_struct_log_bytes': setting({
    core: 'rpc.structLogMaxBytes',
    kind: offAt(0, bytes(0, 1024 * GIB)),
    default: 4 * GIB,
    unit: 'bytes',
    doc: 'Maximum size of the struct logs of one transaction, of opcodeTracer too; more ends the trace with an error. 0 is no limit.',
  }),
  'evm.trace_allowed_tracers': setting({
    kind: or('all', oneOf(TRACER_NAMES)),
    default: 'all' as readonly string[] | 'all',
    doc: `Built-in tracers that are allowed, also within muxTracer; all is every one. ${STRUCT_LOGGER} is the trace without a tracer. Empty: none.`,
  }),
  'evm.strict_trace_options': setting({
    kind: boolean,
    default: false,
    doc: 'Whether a trace with an unknown option, such as tracerr, is refused; otherwise the response over HTTP has the header x-hearth-warning.',
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
    doc: 'Number of child processes for JavaScript tracers, each with one request at a time; auto is one per processor, at least two. They start when a request first needs them.',
  }),
  'evm.trace_js_queue_size': setting({
    kind: integer(1, 100_000),
    default: 64,
    unit: 'requests',
    doc: 'Maximum number of JavaScript traces that wait for a process, clients take turns; a further one is refused with -32005. Waiting counts towards the timeout of the trace.',
  }),
  'evm.trace_js_memory_bytes': setting({
    kind: bytes(32 * MIB, 64 * GIB),
    default: 256 * MIB,
    unit: 'bytes',
    doc: 'Maximum memory of a JavaScript tracer; more ends it with an error, or ends its process, which is replaced.',
  }),
  'evm.trace_js_output_bytes': setting({
    kind: bytes(KIB, 256 * MIB),
    default: 64 * MIB,
    unit: 'bytes',
    doc: 'Maximum size of the result of a JavaScript tracer for one transaction.',
  }),
  'evm.trace_js_require_confinement': setting({
    kind: oneWord('none', 'system-calls', 'all'),
    default: 'system-calls' as 'none' | 'system-calls' | 'all',
    doc: 'What must confine the processes of JavaScript tracers, or scripts are refused: system-calls is what needs no rights of the node (no new privileges, no capabilities, a list of system calls, limits of resources); all is also namespaces and Landlock, which some containers and kernels refuse; none runs scripts in any case. hearth status prints what is active.',
  }),
  'evm.max_concurrent_trace_calls': setting({
    core: 'workers.traces',
    kind: or('auto', offAt(0, integer(0, 100_000))),
    default: 'auto' as number | 'auto',
    doc: 'Maximum number of traces that run at the same time; further ones wait, clients take turns. auto is the number of processors minus one, at least two, of which the second runs at the lowest priority; 0 sets no limit other than the number of threads. A trace that waits for its client does not count (workers.parked_traces), nor does a baked trace.',
  }),
  'evm.max_trace_lookback_blocks': setting({
    core: 'rpc.maxTraceLookbackBlocks',
    kind: offAt(-1, integer(-1, Number.MAX_SAFE_INTEGER)),
    default: 10_000,
    unit: 'blocks',
    doc: 'Maximum number of blocks below the head for a trace that needs the state of its height; 0 is the head only, -1 is no limit. Traces from the cache or from the capsule of a block are served at any depth.',
  }),
  'evm.max_trie_lookback_blocks': setting({
    core: 'rpc.maxTrieLookbackBlocks',
    kind: offAt(-1, integer(-1, Number.MAX_SAFE_INTEGER)),
    default: 1024,
    unit: 'blocks',
    doc: 'Maximum number of blocks below the head for debug_executionWitness and debug_intermediateRoots. The state trie of a block is computed from that of the head, so that time and memory of one request grow with the blocks between; 0 is the head only, -1 is no limit but that of 4,000,000 changed accounts and slots.',
  }),
  'evm.max_trace_filter_blocks': setting({
    kind: integer(1, Number.MAX_SAFE_INTEGER),
    default: 1_000,
    unit: 'blocks',
    doc: 'Maximum number of blocks that one trace_filter or ots_searchTransactions request traces; a request for more is refused with the range that would fit. With addresses, only the blocks that the address index (evm.address_index) returns count; without, every block of the range counts.',
  }),
  'evm.max_trace_filter_results': setting({
    kind: offAt(0, integer(0, Number.MAX_SAFE_INTEGER)),
    default: 100_000,
    unit: 'traces',
    doc: 'Maximum number of traces in one result of trace_filter; a request with more is refused with the range that would fit. 0 is no limit.',
  }),
  'evm.address_index': setting({
    core: 'littable.addressIndex',
    kind: boolean,
    default: true,
    doc: 'Whether each block is indexed by the accounts that its transactions access. With the index, trace_filter traces only the blocks that may match, and ots_searchTransactionsBefore and ots_searchTransactionsAfter are available. Older blocks without an index are indexed in the background from their trace capsules.',
  }),
  'evm.address_index_window_blocks': setting({
    core: 'littable.addressIndexWindowBlocks',
    kind: offAt(0, integer(0, Number.MAX_SAFE_INTEGER)),
    default: 0,
    unit: 'blocks',
    doc: 'Minimum number of newest blocks in the address index; 0 keeps all. The index keeps up to an eighth more, in pages of 256 blocks. Below it, ots_searchTransactionsBefore and ots_searchTransactionsAfter are refused, and trace_filter traces every block of its range. After a larger value, `hearth db reindex` adds the older blocks.',
  }),
  'evm.enable_parallelized_block_trace': setting({
    core: 'rpc.parallelBlockTraces',
    kind: boolean,
    default: true,
    doc: 'Whether the transactions of one block are traced in parallel, on processors that no other trace uses. This needs the capsule of the block; from history they are traced one after the other.',
  }),
  'evm.trace_source': setting({
    core: 'rpc.traceSource',
    kind: oneWord('auto', 'history', 'capsule'),
    default: 'auto' as 'auto' | 'history' | 'capsule',
    doc: 'The source of traces of past blocks: history executes the transactions before the requested one on the state of the parent; capsule uses what the block read and wrote when it was committed; auto uses the capsule if the block has one.',
  }),
  'evm.trace_capsule_window_blocks': setting({
    core: 'littable.capsuleWindowBlocks',
    kind: offAt(0, integer(0, Number.MAX_SAFE_INTEGER)),
    default: 0,
    unit: 'blocks',
    doc: 'Number of newest blocks whose trace capsules are kept; 0 keeps all. Older blocks are traced from history, if that is kept.',
  }),
  'evm.trace_bake_enabled': setting({
    core: 'bake.enabled',
    kind: boolean,
    default: false,
    doc: 'Whether traces of new blocks are computed in the background and stored in data/trace_db of the data directory. Baking starts with the first block after it was enabled; hearth bake bakes older blocks.',
  }),
  'evm.trace_bake_workers': setting({
    core: 'bake.workers',
    kind: integer(1, 1024),
    default: 1,
    unit: 'threads',
    doc: 'Number of threads that bake, at low priority.',
  }),
  'evm.trace_bake_queue_size': setting({
    core: 'bake.queueSize',
    kind: integer(1, 10_000_000),
    default: 4096,
    unit: 'blocks',
    doc: 'Maximum number of heights that wait to be baked. A commit never waits: a height that does not fit is baked later, when the queue is empty.',
  }),
  'evm.trace_bake_tracers': setting({
    core: 'bake.tracers',
    kind: list(`a list of at least one of ${BAKED_TRACERS.join(', ')}`, (word) => BAKED_TRACERS.includes(word), 1),
    default: ['callTracer'] as readonly string[],
    doc: 'Tracers that are baked for each block, all from one execution. A tracer that is added later is baked for earlier heights too.',
  }),
  'evm.trace_bake_further_tracers': setting({
    core: 'bake.furtherTracers',
    kind: list(`a list of ${FURTHER_BAKED_TRACERS.join(', ')}`, (word) => FURTHER_BAKED_TRACERS.includes(word)),
    default: [] as readonly string[],
    doc: 'Tracers that are baked for each block in addition to those of evm.trace_bake_tracers. parityTracer is baked without options and in the form of trace_transaction; trace_block, trace_get, trace_filter and the replay methods with only `trace` are served from it too.',
  }),
  'evm.trace_bake_window_blocks': setting({
    core: 'bake.windowBlocks',
    kind: offAt(0, integer(0, Number.MAX_SAFE_INTEGER)),
    default: 0,
    unit: 'blocks',
    doc: 'Number of blocks below the head whose baked traces are kept; 0 keeps all.',
  }),
  'evm.trace_bake_timeout': setting({
    core: 'bake.timeoutMs',
    kind: duration(1, HOUR),
    default: MINUTE,
    unit: 'ms',
    doc: 'Maximum time to bake one block. A block that takes longer is not stored and is retried later, up to five times.',
  }),
  'evm.trace_bake_use_snapshot': setting({
    core: 'bake.useSnapshot',
    kind: boolean,
    default: false,
    doc: 'Whether the reads and writes of the newest blocks stay in memory for baking; this affects only speed.',
  }),
  'evm.trace_bake_snapshot_window': setting({
    core: 'bake.snapshotWindow',
    kind: integer(1, 1_000_000),
    default: 64,
    unit: 'blocks',
    doc: 'Number of newest blocks whose reads and writes stay in memory if evm.trace_bake_use_snapshot is true; at most 256 MiB.',
  }),
  'evm.trace_bake_canonical_configs': setting({
    core: 'bake.canonicalConfigs',
    kind: boolean,
    default: false,
    doc: 'Whether callTracer with withLog and prestateTracer with diffMode are baked in addition to evm.trace_bake_tracers, and requests whose tracerConfig means the same as a baked one are served from the cache.',
  }),
  'evm.trace_cache_gzip_level': setting({
    core: 'bake.gzipLevel',
    kind: integer(0, 9),
    default: 6,
    doc: 'Compression level of what is baked from now on; at 0 answers are stored uncompressed, so that sending them plain costs no inflation, and take several times as much disk space.',
  }),
  'evm.trace_cache_hot_bytes': setting({
    core: 'bake.hotBytes',
    kind: offAt(0, bytes(0, 1024 * GIB)),
    default: 128 * MIB,
    unit: 'bytes',
    doc: 'Maximum memory for baked traces that were decompressed; 0 keeps none. Pieces of more than 16 KiB that are stored uncompressed are sent from the file cache of the system.',
  }),
} as const
