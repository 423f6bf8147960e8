// The configuration with which the core opens a home. The defaults of settings are in ts/config, so every field has a value; only
// `DevConfig` has optional fields whose defaults are the core's.

/** `start` serves a chain as it is, `dev` makes a block for each transaction. */
export type Mode = 'start' | 'dev'

/** The core's configuration, as it crosses in JSON. */
export interface NodeConfig {
  readonly home: string
  readonly mode: Mode
  /** Whether the home is opened for reading: beside a node that has it, its newest snapshot is read. Goes with `start` alone. */
  readonly readOnly?: boolean
  readonly fsync: string
  readonly flatkv: FlatkvConfig
  readonly littable: LittableConfig
  readonly rpc: {
    readonly gasCap: number
    /** Longest run of one simulated call, in milliseconds. */
    readonly callTimeoutMs: number
    readonly logsMaxResults: number
    /** Most bytes in one answer of eth_getLogs. */
    readonly logsMaxBytes: number
    /** 0 is no limit. */
    readonly logsMaxBlockRange: number
    readonly feeHistoryMaxBlocks: number
    /** 0 is no cap. */
    readonly txFeeCapWei: number
    readonly allowUnprotectedTxs: boolean
    /** Most transactions in one answer about the content of the pool. */
    readonly poolContentMax: number
    /** Longest run of a whole trace call, in milliseconds. */
    readonly traceTimeoutMs: number
    /** Most bytes of the struct logs of one transaction; 0 is no cap. */
    readonly structLogMaxBytes: number
    /** What traces of past blocks are made from. */
    readonly traceSource: 'auto' | 'history' | 'capsule'
    /** How far below the head a block may be whose trace reads the state of its height; null is any. */
    readonly maxTraceLookbackBlocks: number | null
    /** Whether the transactions of a block are traced at the same time. */
    readonly parallelBlockTraces: boolean
  }
  /** Whether a consensus client drives this node over the Engine API. Goes with `start` alone. */
  readonly engine?: boolean
  /** How CometBFT drives this node; null where it does not. Goes with `start` alone. */
  readonly consensus?: ConsensusConfig | null
  readonly bake: BakeConfig
  readonly pool: {
    readonly maxTransactions: number
    readonly maxPerAccount: number
    readonly maxBytes: number
    readonly maxTransactionBytes: number
    readonly priceBumpPercent: number
    readonly minTipWei: number
  }
  readonly workers: {
    readonly read: WorkerConfig
    readonly heavy: WorkerConfig
    /** Traces that run on the heavy threads at the same time; 0 is as many as there are threads. */
    readonly traces: number
    /** The same of calls and estimates. */
    readonly simulations: number
    /** Longest wait for a heavy thread, in milliseconds. */
    readonly waitMs: number
    /** Nice value of the heavy threads. */
    readonly heavyNice: number
    /** Traces that run beside the others, at the lowest priority, while those have all of their threads. */
    readonly lowTraces: number
    /** Part of the slots of those threads that one client may have, in millionths; 1,000,000 is no share. */
    readonly clientShare: number
    /** Most traces that wait for their readers without a slot; a further one keeps its slot. */
    readonly parkedTraces: number
  }
  /** Memory that the process may take before caches shrink and long work is refused; 0 is no limit. */
  readonly memoryBudgetBytes: number
  readonly dev: DevConfig
  /** What the development chain is a fork of; absent where it has a genesis of its own. */
  readonly fork?: ForkConfig
  /** How JavaScript tracers run; null where they are not allowed. */
  readonly scripts: ScriptsConfig | null
}

/** The application that CometBFT connects to. */
export interface ConsensusConfig {
  /** Where it listens: `unix:///absolute/path` or `tcp://127.0.0.1:PORT`. */
  readonly address: string
  /** Longest time that a proposal is filled with transactions, in milliseconds. */
  readonly proposalBudgetMs: number
  /** Newest blocks that CometBFT keeps; 0 keeps all. */
  readonly retainBlocks: number
  /** Heights divisible by this have a snapshot for state sync; 0 for none. */
  readonly snapshotIntervalBlocks: number
  /** Whether CometBFT may bring the first state of a home without blocks, by state sync. */
  readonly stateSync: boolean
}

/** The development chain. The core has the defaults of the optional fields, which describe a new chain. */
export interface DevConfig {
  /** Of every block. */
  readonly gasLimit: number
  /** Of a new chain. */
  readonly chainId?: number | undefined
  /** The newest fork whose rules hold. */
  readonly hardfork?: string | undefined
  /** Of the first block of a new chain. */
  readonly baseFeeWei?: number | undefined
  /** Of the first block of a new chain, in seconds since 1970. */
  readonly timestamp?: number | undefined
  /** Number of funded accounts. */
  readonly accounts?: number | undefined
  readonly mnemonic?: string | undefined
  /** Of each funded account on a new chain; decimal. */
  readonly balanceWei?: string | undefined
  /** Time between blocks; absent: a block for each transaction. */
  readonly blockTimeMs?: number | undefined
  /** With `blockTimeMs`: a block for each transaction too. */
  readonly mixedMining?: boolean | undefined
  /** Blocks on demand alone. */
  readonly noMining?: boolean | undefined
  readonly order?: 'fees' | 'fifo' | undefined
  /** Transactions from any account are taken without its key. */
  readonly autoImpersonate?: boolean | undefined
  /** Bytes of the largest contract on a new chain. */
  readonly codeSizeLimit?: number | undefined
  /** Sending a transaction that reverts is an error; absent: once Hardhat asked. */
  readonly throwOnRevert?: boolean | undefined
}

/** What a development chain is a fork of. */
export interface ForkConfig {
  /** Of the origin. */
  readonly chainId: number
  /** The block that the fork begins after, as the origin gives it. */
  readonly block: { readonly [field: string]: unknown }
  /** Longest wait for an answer of the origin. */
  readonly timeoutMs: number
  /** Bytes of its state that are kept, in memory and on the disk each. */
  readonly cacheBytes: number
}

/** How JavaScript tracers run: in child processes of a program, or not, for a reason. */
export type ScriptsConfig = ScriptWorkers | { readonly unavailable: string }

/** Child processes that run the scripts of JavaScript tracers. */
export interface ScriptWorkers {
  /** Path of the program; the end of its channel is its descriptor 3. */
  readonly program: string
  readonly args: readonly string[]
  /** Child processes; 0 is one for each processor, two at least. */
  readonly workers: number
  /** Requests that may wait for one. */
  readonly queueSize: number
  /** Memory of a script. */
  readonly memoryBytes: number
  /** Longest result of one transaction. */
  readonly outputBytes: number
  /** What must confine them, or they run nothing; nothing where absent. */
  readonly requireConfinement?: 'none' | 'system-calls' | 'all'
}

/** Traces that are made before anyone asks. */
export interface BakeConfig {
  /** Whether new blocks are baked, and requests served from what is baked. */
  readonly enabled: boolean
  /** Threads. */
  readonly workers: number
  /** Heights that may wait. */
  readonly queueSize: number
  readonly tracers: readonly string[]
  /** Newest blocks that are kept; 0 keeps all. */
  readonly windowBlocks: number
  /** Whether decoded capsules of the newest blocks stay in memory. */
  readonly useSnapshot: boolean
  /** How many. */
  readonly snapshotWindow: number
  /** Longest bake of one block. */
  readonly timeoutMs: number
  /** Inflated answers in memory; 0 for none. */
  readonly hotBytes: number
  /** Tracers beside `tracers`. */
  readonly furtherTracers: readonly string[]
  /** Whether tracers with their most used options are baked too. */
  readonly canonicalConfigs: boolean
}

/** How the state store is kept. */
export interface FlatkvConfig {
  /** Whether RocksDB's internal metrics are gathered, for every data DB. */
  readonly enableKvdbMetrics: boolean
  readonly memoryBudgetBytes: number
  /** Blocks below the head whose state is kept; 0 keeps all. */
  readonly stateHistoryBlocks: number
  /** 0 takes no snapshot by itself. */
  readonly snapshotIntervalBlocks: number
  readonly snapshotKeep: number
  /** Whether a snapshot is taken at the end of an import, and when a node that only serves stops. */
  readonly snapshotOnStop: boolean
  /** Size of the log from which on a snapshot is taken out of turn; 0 is no limit. */
  readonly walMaxBytes: number
  /** Space that must be free on the disk; 0 is no limit. */
  readonly minFreeBytes: number
  readonly maxOpenFiles: number
}

/** How the ledger's tables are kept. */
export interface LittableConfig {
  /** Folders beside the ledger's own, each on a volume of its own. */
  readonly extraRoots: readonly string[]
  readonly allowNetworkFs: boolean
  /** Memory for the key indexes of all tables. */
  readonly indexMemoryBytes: number
  /** Files held open. */
  readonly maxOpenFiles: number
  readonly gcPeriodMs: number
  readonly iteratorLeaseMs: number
  /** Size and keys at which a segment is sealed. */
  readonly segmentBytes: number
  readonly segmentKeys: number
  /** Caches of each table; 0 for none. */
  readonly readCacheBytes: number
  readonly writeCacheBytes: number
  /** Newest blocks whose trace capsules are kept; 0 keeps all. */
  readonly capsuleWindowBlocks: number
  /** Whether blocks are indexed by account. */
  readonly addressIndex: boolean
  /** Newest blocks that the address index keeps; 0 keeps all. */
  readonly addressIndexWindowBlocks: number
}

interface WorkerConfig {
  readonly threads: number
  readonly queue: number
}
