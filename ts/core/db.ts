// Tasks on the stores of a home, as `hearth db` offers them: what each takes, and its report.

/** Which littable: that of the ledger where there are no roots, or one elsewhere. Paths are absolute. */
interface Roots {
  readonly roots?: readonly string[] | undefined
}

/** Every task by name. */
export interface DbTasks {
  ls: { args: Roots; report: TableList }
  tableInfo: { args: Roots & { readonly table?: string | undefined }; report: readonly TableInfo[] }
  scrub: { args: Roots & { readonly table?: string | undefined }; report: readonly ScrubReport[] }
  rebase: { args: Roots & { readonly to: readonly string[]; readonly table?: string | undefined }; report: RebaseReport }
  prune: { args: Roots & { readonly table: string; readonly floor: number }; report: PruneReport }
}

/** The tables of a littable. */
export interface TableList {
  readonly roots: readonly string[]
  readonly tables: readonly { readonly name: string; readonly keys: number; readonly bytes: number }[]
}

/** What there is of a table. */
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
  /** The first of the damaged places, each with its file and offset. */
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
