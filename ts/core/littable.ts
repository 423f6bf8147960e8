// A littable store for scripts: an embedded, write-once store of values by key, used without a
// node. This is its interface; the core implements it.

/** How a store is opened. What is left out has the default of littable. */
export interface LittableStoreOptions {
  /** Folders of the store, each on a volume of its own; made where they are missing. */
  readonly roots: readonly string[]
  /** Whether it is opened for reading, also beside a process that writes. */
  readonly readOnly?: boolean
  /** Whether a root may lie on a network file system. */
  readonly allowNetworkFs?: boolean
  /** Memory for key indexes. Default 256 MiB. */
  readonly indexMemoryBytes?: number
  /** Files held open. Default 256. */
  readonly maxOpenFiles?: number
  /** Threads that seal, merge and collect. Default 1; with 0 the calls do it themselves. */
  readonly backgroundThreads?: number
  /** Time between two looks for segments that may go. Default 10 s. */
  readonly gcPeriodMs?: number
  /** How long an iterator may hold segments back. Default 10 min. */
  readonly iteratorLeaseMs?: number
  /** Threads that do the calls. Default 4. */
  readonly threads?: number
  /** Calls that may wait for a thread; one more is refused as `BUSY`. Default 4096. */
  readonly queue?: number
}

/** Name and settings of a table. `shards` and `keys` are fixed when it is made. */
export interface LittableTableOptions {
  /** 1 to 64 of letters, digits, _ and -. */
  readonly name: string
  /** `sequence`: keys of at most 11 bytes that mostly grow. Default `hash`. */
  readonly keys?: 'hash' | 'sequence'
  /** Independent rows of segments. Default 1; only then are there positions. */
  readonly shards?: number
  /** Default `none`. */
  readonly compression?: 'none' | 'pass-through' | 'zstd' | 'zstd-dictionary'
  /** Of zstd, 1 to 19. Default 1. */
  readonly compressionLevel?: number
  /** Size and keys at which a segment is sealed. Default 256 MiB, 65,536 keys. */
  readonly segmentBytes?: number
  readonly segmentKeys?: number
  /** Age at which a segment is sealed. Default none. */
  readonly segmentAgeMs?: number
  /** How long records are kept at least. Default: no bound in time. */
  readonly ttlMs?: number
  readonly writeBufferBytes?: number
  /** Caches of recent puts and of what was read. Default 0: none. */
  readonly writeCacheBytes?: number
  readonly readCacheBytes?: number
}

/** A further key on a part of a value: the bytes from `start` up to `end`, exclusive. */
export interface SecondaryKey {
  readonly key: Uint8Array
  readonly start: number
  readonly end: number
}

/** A value with its keys: there whole or not at all. */
export interface LittableGroup {
  readonly key: Uint8Array
  readonly value: Uint8Array
  readonly secondary?: readonly SecondaryKey[]
  /** What retention goes by, a height for example. */
  readonly number?: bigint
}

/** A group as an iterator gives it. */
export interface LittableRecord {
  readonly key: Uint8Array
  readonly value: Uint8Array
  readonly secondary: readonly SecondaryKey[]
  readonly number: bigint | undefined
}

/** How to iterate. */
export interface IterateOptions {
  /** From the newest group to the oldest. */
  readonly reverse?: boolean
  /** Begin with the group of this key. Where it is not there, nothing is iterated over. */
  readonly from?: Uint8Array
  /** Records that are read at once. Default 256. */
  readonly batch?: number
}

/**
 * Groups in the order of writing. The iterator keeps segments from being deleted until it ends, is
 * closed or its lease ends. A damaged record rejects `next` with `CorruptError`; the next call of
 * `next` continues after it.
 */
export interface LittableIterator extends AsyncIterableIterator<LittableRecord> {
  /** Lets go of what it holds back; `for await` does it by itself. */
  close(): void
}

/** A table. Everything rejects with `LittableError`. */
export interface LittableTable {
  readonly name: string
  /**
   * Puts a group. Repeating the same bytes under a key is harmless, other bytes are a
   * `ConflictError`. Gets see the group from then on.
   */
  put(group: LittableGroup): Promise<void>
  /** Puts groups in their order, each whole or not at all. */
  putBatch(groups: readonly LittableGroup[]): Promise<void>
  /** The bytes under a primary or secondary key; undefined where it is not there. */
  get(key: Uint8Array): Promise<Uint8Array | undefined>
  /** The bytes from `start` up to `end`, exclusive; only the frames that they lie in are read. */
  getRange(key: Uint8Array, start: number, end: number): Promise<Uint8Array | undefined>
  /**
   * The bytes under each of several keys, in their order. Rejects if one of them cannot be read.
   */
  multiGet(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]>
  exists(key: Uint8Array): Promise<boolean>
  /** Makes everything durable that was put before the call. */
  flush(): Promise<void>
  /** Keys, primary and secondary. */
  len(): bigint
  /** Bytes of the table's files. */
  size(): bigint
  /** Lowest number that is kept. */
  floor(): bigint
  iterate(options?: IterateOptions): LittableIterator
  /**
   * Raises the lowest number that is kept; reads below it are refused from then on, and whole
   * segments are deleted.
   */
  setFloor(floor: bigint): Promise<void>
  /** Sets how long records are kept at least; undefined for no bound in time. */
  setTtl(ms: number | undefined): Promise<void>
  /** Removes the segments that retention lets go now; how many. */
  collect(): Promise<number>
  /** Where the last group ends. */
  position(): Promise<bigint>
  /** Takes away everything behind a position. */
  cut(position: bigint): Promise<void>
  /** In a store open for reading: sees what the writer has done meanwhile. */
  refresh(): Promise<void>
  /** Lets go of the table: it may be opened again, or dropped. */
  close(): void
}

/** A store. Everything rejects with `LittableError`. */
export interface LittableStore {
  table(options: LittableTableOptions): Promise<LittableTable>
  /** Names of the tables, sorted. */
  tableNames(): Promise<string[]>
  /** Removes a table that is not open, with everything in it. */
  dropTable(name: string): Promise<void>
  /** Makes durable what was put into any open table before the call. */
  flush(): Promise<void>
  /** Values of the store's instruments, as JSON; see `Core.metricsSnapshot`. */
  metricsSnapshot(): string
  /**
   * Lets calls in progress finish, flushes, and closes the store with everything that was opened
   * from it.
   */
  close(): Promise<void>
}
