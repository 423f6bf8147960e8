// The state store: [state-commit.flatkv].
import { boolean, integer, text } from '../parsers.ts'
import { bytes } from '../units.ts'
import { GIB, MIB, setting } from './shared.ts'

/** Most bytes that a size of the store may be: what a number holds exactly is more. */
const SIZE_MAX = 1024 * 1024 * GIB

const perDb = setting({
  kind: boolean,
  default: true,
  hidden: true,
  inert: true,
  doc: 'Metrics of one data DB alone. enable-kvdb-metrics always overrides it.',
})

/** Settings of the state store. */
export const STATE = {
  'state-commit.flatkv.fsync': setting({
    core: 'fsync',
    kind: text('block, interval:<ms> or none', /^(block|none|interval:[1-9]\d{0,8})$/),
    default: 'block',
    doc: 'When a commit is synced to the disk: with each block, at an interval in milliseconds, or when the system decides. A commit survives the death of the process in every mode; a power cut may lose commits that are not synced yet. `hearth import` uses interval:1000 by default.',
  }),
  'state-commit.flatkv.state_history_blocks': setting({
    core: 'flatkv.stateHistoryBlocks',
    kind: integer(0, Number.MAX_SAFE_INTEGER),
    default: 0,
    unit: 'blocks',
    doc: 'Number of blocks below the head whose state is kept; older state is pruned in the background, and a reorganisation cannot go further back. 0 keeps all.',
  }),
  'state-commit.flatkv.snapshot_interval_blocks': setting({
    core: 'flatkv.snapshotIntervalBlocks',
    kind: integer(0, Number.MAX_SAFE_INTEGER),
    default: 10_000,
    unit: 'blocks',
    doc: 'Interval of snapshots of the state: one is taken at every height that is a multiple of this, or up to 63 blocks above it where an import commits several blocks in one step. 0 takes none.',
  }),
  'state-commit.flatkv.snapshot_keep': setting({
    core: 'flatkv.snapshotKeep',
    kind: integer(1, 1000),
    default: 2,
    unit: 'snapshots',
    doc: 'Number of snapshots that are kept. The WAL is kept from the oldest of them on.',
  }),
  'state-commit.flatkv.snapshot_on_stop': setting({
    core: 'flatkv.snapshotOnStop',
    kind: boolean,
    default: true,
    doc: 'Whether a snapshot of the state is taken at the end of `hearth import` and when `hearth start` stops, if the head has moved since the newest snapshot.',
  }),
  'state-commit.flatkv.wal_max_bytes': setting({
    core: 'flatkv.walMaxBytes',
    kind: bytes(0, SIZE_MAX),
    default: 8 * GIB,
    unit: 'bytes',
    doc: 'Size of the WAL at which an extra snapshot is taken, so that older parts of the WAL can be removed. 0 is no limit.',
  }),
  'state-commit.flatkv.memory_budget_bytes': setting({
    core: 'flatkv.memoryBudgetBytes',
    kind: bytes(32 * MIB, SIZE_MAX),
    default: GIB,
    unit: 'bytes',
    doc: 'Memory of the state store: block cache, indexes and filters of its files, memtables, the state trie, code.',
  }),
  'state-commit.flatkv.min_free_bytes': setting({
    core: 'flatkv.minFreeBytes',
    kind: bytes(0, SIZE_MAX),
    default: GIB,
    unit: 'bytes',
    doc: 'Minimum free space on the disk. Below it, new blocks are refused until there is space again; committed blocks are served. 0 is no limit.',
  }),
  'state-commit.flatkv.max_open_files': setting({
    core: 'flatkv.maxOpenFiles',
    kind: integer(16, 1_000_000),
    default: 512,
    unit: 'files',
    doc: 'Maximum number of open files of the state store.',
  }),
  'state-commit.flatkv.enable-kvdb-metrics': setting({
    core: 'flatkv.enableKvdbMetrics',
    kind: boolean,
    default: true,
    hidden: true,
    doc: 'Whether the metrics page includes the internal metrics of RocksDB, for every data DB of the state store; overrides EnableMetrics of a single DB.',
  }),
  'state-commit.flatkv.account.EnableMetrics': perDb,
  'state-commit.flatkv.code.EnableMetrics': perDb,
  'state-commit.flatkv.storage.EnableMetrics': perDb,
  'state-commit.flatkv.legacy.EnableMetrics': perDb,
  'state-commit.flatkv.metadata.EnableMetrics': perDb,
} as const
