// [littable]: the tables of blocks and receipts, and a littable that is used alone.
import { boolean, integer, list } from '../parsers.ts'
import { bytes, duration } from '../units.ts'
import { DAY, GIB, HOUR, KIB, MIB, MINUTE, port, SECOND, setting } from './shared.ts'

/** Folders by absolute path. */
const folders = list('a list of absolute paths', (word) => word.startsWith('/'))

/** Settings of littable. */
export const LITTABLE = {
  'littable.MetricsEnabled': setting({
    kind: boolean,
    default: false,
    doc: 'Whether a littable that is used alone serves /metrics. Within a node, the page of the node has the litt_* metrics, and no second listener opens.',
  }),
  'littable.MetricsPort': setting({
    kind: port,
    default: 9101,
    doc: 'Port of the metrics page of a littable that is used alone. 0 takes a free port.',
  }),
  'littable.extra_roots': setting({
    core: 'littable.extraRoots',
    kind: folders,
    default: [] as readonly string[],
    doc: 'Folders in addition to data/ledger of the data directory, each on a volume of its own: the segments of blocks and receipts are spread over all of them. A missing folder is an error at the start. hearth db rebase removes one again.',
  }),
  'littable.allow_network_fs': setting({
    core: 'littable.allowNetworkFs',
    kind: boolean,
    default: false,
    doc: 'Whether the tables may be on a network file system, whose locks and syncs may be unreliable.',
  }),
  'littable.segment_bytes': setting({
    core: 'littable.segmentBytes',
    kind: bytes(64 * KIB, 2 * GIB),
    default: 256 * MIB,
    unit: 'bytes',
    doc: 'Size at which a segment of a table is sealed. Pruning removes whole segments.',
  }),
  'littable.segment_keys': setting({
    core: 'littable.segmentKeys',
    kind: integer(16, 16_777_216),
    default: 65_536,
    unit: 'keys',
    doc: 'Number of keys at which a segment of a table is sealed; until then their index is in memory. A block has two keys in each table.',
  }),
  'littable.index_memory_bytes': setting({
    core: 'littable.indexMemoryBytes',
    kind: bytes(MIB, 1024 * GIB),
    default: 256 * MIB,
    unit: 'bytes',
    doc: 'Memory for filters, fences and pages of the key indexes of all tables.',
  }),
  'littable.read_cache_bytes': setting({
    core: 'littable.readCacheBytes',
    kind: bytes(0, 1024 * GIB),
    default: 0,
    unit: 'bytes',
    doc: 'Read cache of each table, in compressed frames; 0 for none. In addition, the node caches decoded blocks and receipts.',
  }),
  'littable.write_cache_bytes': setting({
    core: 'littable.writeCacheBytes',
    kind: bytes(0, 1024 * GIB),
    default: 0,
    unit: 'bytes',
    doc: 'Write cache of each table, with the newest values; 0 for none. In addition, the node caches the newest blocks in decoded form.',
  }),
  'littable.max_open_files': setting({
    core: 'littable.maxOpenFiles',
    kind: integer(8, 1_048_576),
    default: 256,
    unit: 'files',
    doc: 'Maximum number of open files of sealed segments and key indexes.',
  }),
  'littable.iterator_lease': setting({
    core: 'littable.iteratorLeaseMs',
    kind: duration(SECOND, DAY),
    default: 10 * MINUTE,
    unit: 'ms',
    doc: 'Time for which an iterator keeps expired segments from being removed; then the iterator fails.',
  }),
  'littable.gc_period': setting({
    core: 'littable.gcPeriodMs',
    kind: duration(10, HOUR),
    default: 10 * SECOND,
    unit: 'ms',
    doc: 'Time between two searches for expired segments.',
  }),
} as const
