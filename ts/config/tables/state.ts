// The state store: [state-commit.flatkv].
import { boolean, integer, text } from '../kinds.ts'
import { bytes } from '../measures.ts'
import { GIB, MIB, setting } from './shared.ts'

/** Most bytes that a size of the store may be: what a number holds exactly is more. */
const SIZE_MAX = 1024 * 1024 * GIB

const perDb = setting({
  kind: boolean,
  default: true,
  hidden: true,
  inert: true,
  doc: 'Metrics of one data DB alone. enable-kvdb-metrics always wins over it.',
})

/** Settings of the state store. */
export const STATE = {
  'state-commit.flatkv.fsync': setting({
    kind: text('block, interval:<ms> or none', /^(block|none|interval:[1-9]\d{0,8})$/),
    default: 'block',
    doc: 'When a commit is forced to the disk: with each block, every so many milliseconds, or when the system likes. An acknowledged commit survives the death of the process in every mode; a power cut may lose what is not forced yet. `hearth import` takes interval:1000 where nothing is set.',
  }),
  'state-commit.flatkv.state_history_blocks': setting({
    kind: integer(0, Number.MAX_SAFE_INTEGER),
    default: 0,
    unit: 'blocks',
    doc: 'Blocks below the head whose state is kept; older state goes in the background, and a reorganisation cannot reach below. 0 keeps all.',
  }),
  'state-commit.flatkv.snapshot_interval_blocks': setting({
    kind: integer(0, Number.MAX_SAFE_INTEGER),
    default: 10_000,
    unit: 'blocks',
    doc: 'A snapshot of the state is taken at every height that this divides. 0 takes none by itself.',
  }),
  'state-commit.flatkv.snapshot_keep': setting({
    kind: integer(1, 1000),
    default: 2,
    unit: 'snapshots',
    doc: 'Newest snapshots that are kept. The log is kept from the oldest of them on.',
  }),
  'state-commit.flatkv.snapshot_on_stop': setting({
    kind: boolean,
    default: true,
    doc: 'Whether a snapshot of the state is taken at the end of `hearth import` and when `hearth start` stops, where the head has moved since the newest one.',
  }),
  'state-commit.flatkv.wal_max_bytes': setting({
    kind: bytes(0, SIZE_MAX),
    default: 8 * GIB,
    unit: 'bytes',
    doc: 'Size of the log from which on a snapshot is taken out of turn, so that older parts of the log can go. 0 is no limit.',
  }),
  'state-commit.flatkv.memory_budget_bytes': setting({
    kind: bytes(32 * MIB, SIZE_MAX),
    default: GIB,
    unit: 'bytes',
    doc: 'Memory that the state store takes: cached blocks, indexes and filters of its files, what is not written to them yet, the state trie, code.',
  }),
  'state-commit.flatkv.min_free_bytes': setting({
    kind: bytes(0, SIZE_MAX),
    default: GIB,
    unit: 'bytes',
    doc: 'Space that must be free on the disk. Below, blocks are refused until there is space again; what is committed is served. 0 is no limit.',
  }),
  'state-commit.flatkv.max_open_files': setting({
    kind: integer(16, 1_000_000),
    default: 512,
    unit: 'files',
    doc: 'Files of the state store that are held open.',
  }),
  'state-commit.flatkv.enable-kvdb-metrics': setting({
    kind: boolean,
    default: true,
    hidden: true,
    doc: 'Whether the page has the internal metrics of RocksDB, for every data DB of the state store; wins over EnableMetrics of a single DB.',
  }),
  'state-commit.flatkv.account.EnableMetrics': perDb,
  'state-commit.flatkv.code.EnableMetrics': perDb,
  'state-commit.flatkv.storage.EnableMetrics': perDb,
  'state-commit.flatkv.legacy.EnableMetrics': perDb,
  'state-commit.flatkv.metadata.EnableMetrics': perDb,
} as const
