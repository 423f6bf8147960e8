// The configuration with which the core opens a data directory. The defaults of settings are in
// ts/config, so every field has a value; only fields of `dev` may be absent, and have the core's
// defaults then.

/** `start` serves a chain as it is, `dev` makes a block for each transaction. */
export type Mode = 'start' | 'dev'

/**
 * A part of the configuration whose fields are settings. Their rows in ts/config name them, and
 * test/unit/core-config.test.ts compares them with the structs in Rust, which document them: those
 * of crates/home/src/config, and those of the stores and of the pool.
 */
export type CoreFields = { readonly [field: string]: unknown }

/** The core's configuration, as it crosses in JSON. */
export interface NodeConfig {
  readonly home: string
  readonly mode: Mode
  /**
   * Whether the home is opened for reading: if a node has it open, its newest snapshot is read.
   * Only with `start`.
   */
  readonly readOnly?: boolean
  readonly fsync: unknown
  readonly flatkv: CoreFields
  readonly littable: CoreFields
  readonly rpc: CoreFields
  /** Whether a consensus client drives this node over the Engine API. Goes with `start` alone. */
  readonly engine?: boolean
  /** How CometBFT drives this node; null where it does not. Goes with `start` alone. */
  readonly consensus?: ConsensusConfig | null
  readonly bake: CoreFields
  readonly pool: CoreFields
  readonly workers: CoreFields
  /**
   * Memory that the process may take before caches shrink and long work is refused; 0 means no
   * limit.
   */
  readonly memoryBudgetBytes: number
  readonly dev: CoreFields
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
  /** Number of newest blocks that CometBFT keeps; 0 keeps all. */
  readonly retainBlocks: number
  /** Heights divisible by this have a snapshot for state sync; 0 for none. */
  readonly snapshotIntervalBlocks: number
  /** Whether CometBFT may bring the first state of a home without blocks, by state sync. */
  readonly stateSync: boolean
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
  /** Whether its accounts and slots are verified; `auto`: where a proof is not null. */
  readonly verify: 'auto' | 'on' | 'off'
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
