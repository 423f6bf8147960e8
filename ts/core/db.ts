// Tasks on the stores of a home, as `hearth db` offers them: what each takes, and its report.

/**
 * The littable store: that of the ledger if there are no roots, or another one. Paths are absolute.
 */
interface Roots {
  readonly roots?: readonly string[] | undefined
}

/** Every task by name. */
export interface DbTasks {
  ls: { args: Roots; report: TableList }
  tableInfo: { args: Roots & { readonly table?: string | undefined }; report: readonly TableInfo[] }
  scrub: { args: Roots & { readonly table?: string | undefined }; report: readonly ScrubReport[] }
  rebase: { args: Roots & { readonly to: readonly string[]; readonly table?: string | undefined }; report: RebaseReport }
  info: { args: object; report: StateInfo }
  verify: { args: object; report: VerifyReport }
  repair: { args: { readonly acceptLoss: boolean; readonly from: readonly string[] }; report: RepairReport }
  restoreBlocks: { args: { readonly from: readonly string[] }; report: LedgerRepair }
  rollback: { args: { readonly to: number; readonly fromSnapshot: boolean; readonly dryRun: boolean }; report: RollbackReport }
  snapshot: { args: object; report: SnapshotInfo }
  exportState: { args: { readonly height: number | undefined; readonly file: string }; report: ExportStateReport }
  importState: { args: { readonly file: string }; report: ImportStateReport }
  dump: { args: { readonly db: string; readonly file: string }; report: DumpReport }
  reindex: { args: object; report: ReindexReport }
  migrate: { args: object; report: { readonly from: number | null; readonly to: number; readonly head: StateHead } }
  backup: { args: BackupArgs; report: BackupReport }
  prune: { args: Roots & { readonly table: string; readonly floor: number }; report: PruneReport }
}

/** The tables of a littable. */
export interface TableList {
  readonly roots: readonly string[]
  readonly tables: readonly { readonly name: string; readonly keys: number; readonly bytes: number }[]
}

/** The contents of a table. */
export interface TableInfo {
  readonly name: string
  readonly shards: number
  /** Segments, sealed or not. */
  readonly segments: number
  readonly openSegments: number
  /** Files of key indexes. */
  readonly keyIndexes: number
  /** Memory of filters, fences and the keys of open segments. */
  readonly indexMemoryBytes: number
  /** Values, each with a primary key and any number of secondary ones. */
  readonly records: number
  readonly keys: number
  /** Values before compression. */
  readonly valueBytes: number
  readonly fileBytes: number
  /** Lowest number (height) that is kept. */
  readonly floor: number
  /** Lowest and highest number of the records; null where they have none. */
  readonly lowest: number | null
  readonly highest: number | null
}

/** What a scrub of one table found. */
export interface ScrubReport {
  readonly table: string
  readonly segments: number
  readonly records: number
  readonly indexPages: number
  readonly bytes: number
  readonly damaged: number
  /** Damaged records that were written again elsewhere: nothing is lost with them. */
  readonly replaced: number
  /** The first damaged records, each with file and offset. */
  readonly damage: readonly string[]
}

/** What a rebase did. */
export interface RebaseReport {
  /** The folders that have the tables now. */
  readonly roots: readonly string[]
  readonly filesMoved: number
  readonly bytesMoved: number
}

/** What pruning a table did. */
export interface PruneReport {
  readonly table: string
  readonly floor: number
  readonly segmentsRemoved: number
  readonly bytesBefore: number
  readonly bytesAfter: number
}

/** A block whose state is there. */
export interface StateHead {
  readonly height: number
  readonly hash: string
  /** The state root, or what stands in its place. */
  readonly commitment: string
}

/** A snapshot of the state. */
export interface SnapshotInfo {
  readonly height: number
  readonly hash: string
  /** Oldest height with state in it. */
  readonly oldest: number
  /** Last record of the log that it holds. */
  readonly walRecord: number
  readonly dir: string
}

/** What the stores of a home have. */
export interface StateInfo {
  readonly home: string
  readonly format: number | null
  readonly head: StateHead | null
  readonly oldestState: number | null
  /** Height of the first state. */
  readonly base: number
  readonly oldestBlock: number
  readonly oldestReceipts: number
  /**
   * Height of the snapshot that was read because a node has the home open; null if the home itself
   * was read.
   */
  readonly snapshot: number | null
  readonly snapshots: readonly SnapshotInfo[]
  readonly bytes: { readonly state: number; readonly snapshots: number; readonly wal: number; readonly ledger: number }
}

/** What a verification looked at and found. */
export interface VerifyReport {
  readonly head: StateHead
  readonly oldestState: number
  readonly commitment: 'mpt' | 'lthash' | 'none'
  readonly snapshot: number | null
  readonly rows: Readonly<
    Record<
      'accounts' | 'slots' | 'codes' | 'legacy' | 'history' | 'trieNodes' | 'changes' | 'blocks' | 'transactions' | 'indexedBlocks',
      number
    >
  >
  readonly found: number
  /** The first of what is wrong, by name and as a sentence. */
  /** `repair` is the command that repairs it; null where none does. */
  readonly findings: readonly { readonly name: string; readonly text: string; readonly repair: string | null }[]
}

/** What a repair found and did. */
export interface RepairReport {
  readonly problems: readonly string[]
  readonly findings: readonly string[]
  readonly actions: readonly {
    readonly action: 'log_rewritten' | 'from_snapshot' | 'from_log' | 'from_ledger'
    /** Where the damaged part is now. */
    readonly aside: string
    readonly records?: number
    readonly height?: number
  }[]
  readonly lost: { readonly from: number; readonly to: number } | null
  readonly head: StateHead | null
  readonly ledger: LedgerRepair
  /** Trace capsules that were rebuilt, and blocks without a sound capsule that cannot have one. */
  readonly capsules: { readonly made: number; readonly left: number }
}

/** A record of a block in the ledger. */
export interface BlockRecord {
  readonly number: number
  readonly hash: string
  readonly what: 'block' | 'receipts'
}

/** Damaged records of the ledger: those that were repaired, and those that remain damaged. */
export interface LedgerRepair {
  readonly restored: readonly BlockRecord[]
  readonly broken: readonly (BlockRecord & { readonly why: string })[]
  /** How many more there are of each kind than are listed, which are 10,000 at most. */
  readonly moreRestored: number
  readonly moreBroken: number
}

/** Rows of a stream. */
export interface StreamRows {
  readonly codes: number
  readonly accounts: number
  readonly slots: number
  readonly legacy: number
}

/** A stream that was written. */
export interface ExportStateReport {
  readonly file: string
  readonly head: StateHead
  readonly rows: StreamRows
  readonly bytes: number
  readonly digest: string
  readonly snapshot: number | null
}

/** A stream that was read. */
export interface ImportStateReport {
  readonly file: string
  readonly head: StateHead
  readonly rows: StreamRows
  readonly bytes: number
}

/** Rows that were written as lines. */
export interface DumpReport {
  readonly db: string
  readonly file: string
  readonly rows: number
  readonly head: StateHead | null
  readonly snapshot: number | null
}

/** A rebuilt address index. */
export interface ReindexReport {
  /** Pages of 256 blocks. */
  readonly pages: number
  /** Blocks in them without a trace capsule: every search looks at them. */
  readonly unknown: number
  /** Lowest height that the index keeps. */
  readonly first: number
  readonly head: StateHead
}

/** What a rollback did, or would do. */
export interface RollbackReport {
  /** The head before. */
  readonly from: StateHead
  readonly to: { readonly height: number; readonly hash: string }
  /** The head afterwards; null where nothing was changed. */
  readonly head: StateHead | null
}

/** How a backup is made. */
export interface BackupArgs {
  readonly to: string
  /** Whether every file is copied and none is a hard link. */
  readonly copy: boolean
  /** Newest backups that stay in the folder; undefined keeps all. */
  readonly keep: number | undefined
}

/** A backup that was made. */
export interface BackupReport {
  readonly dir: string
  readonly head: StateHead
  readonly besideNode: boolean
  /** Height of the snapshot that the state comes from. */
  readonly snapshot: number
  readonly copied: { readonly files: number; readonly bytes: number }
  readonly linked: { readonly files: number; readonly bytes: number }
  /** Folders of older backups that were removed. */
  readonly removed: readonly string[]
}
