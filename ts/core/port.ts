// The interface of the Rust core for all other components. Tests replace it by a fake.

import type { Body, ByteStream, GzipBody, WholeBody } from './body.ts'
import type { ScriptsConfig } from './config.ts'
import type { DevOperations } from './dev-operations.ts'
import type { FollowPort, Verified } from './follow.ts'
import type { Line } from './line.ts'
import type { LongText } from './long-text.ts'

/** `0x` and hex digits. */
export type Hex = string

/** Hex bytes of any length. */
export type Data = Hex | LongText

/** A block by tag or number: `latest`, `0x1b`. */
export type BlockNumber = string

/** A block by tag, number or hash (EIP-1898). */
export type BlockRef = string | { blockHash: Hex; requireCanonical?: boolean } | { blockNumber: BlockNumber }

/** A JSON object that goes to the core as it is, checked by a codec. */
export type JsonObject = { readonly [key: string]: unknown }

/** Operations that answer with the JSON bytes of one result, and their arguments. */
export interface Operations extends DevOperations {
  blockNumber: undefined
  chainId: undefined
  netVersion: undefined
  syncing: undefined
  gasPrice: undefined
  maxPriorityFeePerGas: undefined
  baseFee: undefined
  blobBaseFee: undefined
  feeHistory: { blockCount: Hex; newestBlock: BlockNumber; rewardPercentiles: readonly number[] }
  getBalance: { address: Hex; block: BlockRef | undefined }
  getCode: { address: Hex; block: BlockRef | undefined }
  /** The signer of a raw transaction, or null. */
  senderOf: { raw: Data }
  /**
   * The receipt of a native transaction that succeeded, or of an Ethereum one with the indices of
   * the whole block; null for others.
   */
  nativeReceipt: { hash: Hex }
  /** `{code, log, value, height}`: the code of gRPC, the answer in protobuf. */
  cosmosQuery: { path: string; data: Hex; height?: number }
  /** `{code, height, body}` or `{code, height, message}`: the code of gRPC, the answer in JSON. */
  cosmosRest: { query: string; params: Readonly<Record<string, string | readonly string[]>>; height?: number }
  /** Null where there is none. */
  getCodeByHash: { hash: Hex }
  getStorageAt: { address: Hex; slot: Hex; block: BlockRef | undefined }
  getStorageValues: { requests: JsonObject; block: BlockRef | undefined }
  getProof: { address: Hex; slots: readonly ProofSlot[]; block: BlockRef }
  getTransactionCount: { address: Hex; block: BlockRef | undefined }
  getBlockByNumber: { block: BlockNumber; full: boolean }
  getBlockByHash: { hash: Hex; full: boolean }
  /** `{number, hash}` of a canonical block. */
  getBlockId: { block: BlockNumber }
  /** `{block, ommers}`: what a block of any branch paid before the merge, in wei; or null. */
  blockRewards: { hash: Hex }
  getBlockTransactionCountByNumber: { block: BlockNumber }
  getBlockTransactionCountByHash: { hash: Hex }
  getBlockReceipts: { block: BlockRef }
  getTransactionByHash: { hash: Hex }
  getTransactionByBlockNumberAndIndex: { block: BlockNumber; index: Hex }
  getTransactionByBlockHashAndIndex: { hash: Hex; index: Hex }
  getTransactionReceipt: { hash: Hex }
  getLogs: { filter: JsonObject }
  call: CallArguments
  estimateGas: CallArguments
  createAccessList: { transaction: JsonObject; block: BlockRef | undefined; stateOverrides: JsonObject | undefined }
  config: undefined
  capabilities: undefined
  simulateV1: { options: JsonObject; block: BlockRef | undefined }
  sendRawTransaction: { transaction: Data }
  getHeaderByNumber: { block: BlockNumber }
  getHeaderByHash: { hash: Hex }
  getUncleCount: { block: BlockRef }
  getUncle: { block: BlockRef; index: Hex }
  getRawTransactionByIndex: { block: BlockRef; index: Hex }
  /** The header of a new head, of any branch. */
  headNotice: { hash: Hex }
  /**
   * The logs of one block of any branch, one per line; `removed`: it left the chain, the last log
   * first.
   */
  blockLogs: { hash: Hex; filter: JsonObject; removed: boolean }
  /** A transaction as it was while it waited, or null. */
  pendingTransaction: { hash: Hex }
  accounts: undefined
  keccak: { data: Data }
  /** 65 bytes. */
  signDigest: { account: Hex; digest: Hex }
  /** `{raw, tx}` without a signature. */
  fillTransaction: { transaction: JsonObject }
  signTransaction: { transaction: JsonObject }
  sendTransaction: { transaction: JsonObject }
  buildBlock: { parent: Hex; attributes: JsonObject; transactions: readonly Data[] | undefined; extraData: Data | undefined }
  engineNewPayload: {
    version: number
    payload: JsonObject
    versionedHashes?: readonly Hex[]
    parentBeaconBlockRoot?: Hex
    executionRequests?: readonly Data[]
  }
  engineForkchoiceUpdated: { version: number; state: JsonObject; attributes: JsonObject | undefined }
  engineGetPayload: { version: number; id: Hex }
  engineGetBlobs: { version: number; hashes: readonly Hex[] }
  engineBodiesByHash: { hashes: readonly Hex[] }
  engineBodiesByRange: { start: Hex; count: Hex }
  /** Milliseconds since the last fork choice, or null. */
  engineForkchoiceAge: undefined
  /** How the application of CometBFT does: `{connections, height, blockAgeMs, failure}`. */
  consensusStatus: undefined
  /**
   * Raw transactions in hex that became executable since the last call, each once, up to so many
   * bytes.
   */
  consensusReap: { maxBytes: number }
  txpoolStatus: undefined
  txpoolContent: undefined
  txpoolInspect: undefined
  txpoolContentFrom: { address: Hex }
  getRawBlock: { block: BlockRef }
  getRawHeader: { block: BlockRef }
  getRawReceipts: { block: BlockRef }
  getRawTransaction: { hash: Hex }
  intermediateRoots: { hash: Hex }
  executionWitness: { block: BlockRef; legacy: boolean }
  storageRangeAt: { block: BlockRef; txIndex: Hex; address: Hex; keyStart: Data; maxResult: Hex }
  getBadBlocks: undefined
  /** A page of the transactions that an account has part in; `block` 0: from the end on. */
  accountTransactions: { address: Hex; block: Hex; pageSize: number; before: boolean; maxBlocks: number }
  /** `{hash, creator}` or null; without a block by the address index. */
  contractCreation: { address: Hex; block: BlockNumber | undefined; maxBlocks: number }
  /** The hash of a sender's transaction or null, by the address index. */
  senderTransaction: { address: Hex; nonce: Hex; maxBlocks: number }
  read: ReadArguments
}

/** A slot to prove; `whole`: the answer names it by 32 bytes and not by a quantity. */
export interface ProofSlot {
  readonly slot: Hex
  readonly whole: boolean
}

/** What `call` and `estimateGas` take. */
export interface CallArguments {
  transaction: JsonObject
  block: BlockRef | undefined
  stateOverrides: JsonObject | undefined
  blockOverrides: JsonObject | undefined
}

/** Calls of one simulated block. */
export interface CallBundle {
  readonly transactions: readonly JsonObject[]
  readonly blockOverrides: JsonObject | undefined
  /** Hashes of blocks to pretend: number and hash. */
  readonly blockHashes: readonly (readonly [Hex, Hex])[]
  readonly stateOverrides: JsonObject | undefined
}

/** What the core has to say to operators. */
export interface CoreLogEntry {
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** When it was, in milliseconds since 1970. */
  readonly time: number
  /** Which part of the node says it. */
  readonly component: 'stores' | 'chain' | 'bake' | 'memory' | 'log'
  readonly message: string
  /** Values by name. */
  readonly fields?: Readonly<Record<string, string | number>>
}

/** The client of a request. */
export interface CoreCaller {
  /** Whose the request is: work that waits takes turns by it. */
  readonly address: string
  /** Calls back when the client has left. */
  onDisconnect(callback: () => void): void
  /** Called if a trace is about a block further below the head than the lookback. */
  historical(): void
  /** The requests among which this one keeps its place; undefined for a request by itself. */
  readonly line?: Line | undefined
}

/** Whose steps: those of a transaction, of a call, or (of a gas profile alone) of a block. */
export interface StepsOf {
  readonly hash?: Hex
  readonly call?: {
    readonly transaction: JsonObject
    readonly block: BlockRef
    readonly txIndex: Hex | undefined
    readonly stateOverrides: JsonObject | undefined
    readonly blockOverrides: JsonObject | undefined
  }
  readonly block?: BlockRef
}

/** What of them; `config` has the time limit. */
export interface StepsArguments extends StepsOf {
  readonly options: JsonObject
  readonly config: JsonObject
}

/** Operations that answer with a stream of JSON bytes. */
export interface StreamOperations {
  traceTransaction: { hash: Hex; config: JsonObject | undefined }
  traceBlockByNumber: { block: BlockNumber; config: JsonObject | undefined }
  traceBlockByHash: { hash: Hex; config: JsonObject | undefined }
  traceBlock: { rlp: Data; config: JsonObject | undefined }
  traceTransactionProfile: { hash: Hex; config: JsonObject | undefined }
  traceBadBlock: { hash: Hex; config: JsonObject | undefined }
  traceStateAccess: { hash: Hex }
  traceStepIndex: StepsArguments
  traceSteps: StepsArguments
  traceStepSearch: StepsArguments
  traceGasProfile: StepsArguments
  traceCall: {
    transaction: JsonObject
    block: BlockRef
    txIndex: Hex | undefined
    stateOverrides: JsonObject | undefined
    blockOverrides: JsonObject | undefined
    config: JsonObject | undefined
  }
  parityCalls: {
    calls: readonly { transaction?: JsonObject; raw?: Data; types: readonly string[] }[]
    block: BlockRef | undefined
    list: boolean
    config: JsonObject | undefined
  }
  traceFilter: JsonObject
  traceCallMany: {
    bundles: readonly CallBundle[]
    block: BlockRef | undefined
    transactionIndex: Hex | undefined
    stateOverrides: JsonObject | undefined
    blockOverrides: JsonObject | undefined
    config: JsonObject | undefined
  }
}

/**
 * The source of a trace: computed ahead of requests, from the block's capsule, or from the state of
 * its parent.
 */
export type TraceOrigin = 'baked' | 'capsule' | 'history'

/** How a result is wanted. */
export interface OpenOptions {
  /** What stands before and behind a result in one piece. */
  readonly head: string
  readonly tail: string
  /**
   * Results of more bytes, head and tail included, are wanted in gzip where they are stored in
   * gzip; undefined: none is.
   */
  readonly gzipOver?: number | undefined
  /** Whose request it is, by address: work that waits takes turns by it. */
  readonly client?: string | undefined
  /**
   * Filled in once the first bytes or an error are there, where the core knows more of a result.
   */
  readonly facts?: ResultFacts | undefined
}

/** What the core knows of a result beside its bytes. */
export interface ResultFacts {
  origin?: TraceOrigin | undefined
  /** Milliseconds for which the work waited for its thread. */
  waitedMs?: number | undefined
}

/**
 * The JSON bytes of one result. The work begins with `open`, or with the first `next`. Rejections
 * are `CoreError`s.
 */
export interface ResultStream extends ByteStream {
  /**
   * Instead of the first `next`: the result with its head and tail, in one piece or as one gzip
   * member; a stream of the result without them where it is larger than a piece. What is ready in
   * memory is answered without a promise. A stream fails only after its first two chunks: an
   * earlier failure rejects here. `openResult` opens streams that lack this member.
   */
  open?(options: OpenOptions): Promise<Body> | Body
}

/** A trace that is named, and whose configuration is the name of a tracer and nothing else. */
export interface NamedTrace {
  readonly of: 'transaction' | 'blockByNumber' | 'blockByHash'
  /** A hash, a height in hex, or `latest`, as `of` says. */
  readonly named: string
  readonly tracer: string
}

/** An answer that is ready, with what was to stand around it. */
export interface ReadyTrace {
  readonly body: WholeBody | GzipBody
  /** Whether its block is further below the head than traces may look back. */
  readonly historical: boolean
}

/** Files to trace without a home. Paths are absolute. */
export interface ReplayJob {
  /** Tracer tests and recorded blocks, plain or gzipped. */
  readonly files: readonly string[]
  /** Configurations, each the second parameter of debug_traceTransaction. */
  readonly traces: readonly JsonObject[]
  /** Position of the only transaction that is wanted; all where absent. */
  readonly tx: number | undefined
  /** How JavaScript tracers run. */
  readonly scripts: ScriptsConfig | null
}

/** What an open home holds. */
export interface HomeStatus {
  readonly chainId: number
  /** Height and hash of the head. */
  readonly head: number
  readonly headHash: Hex
  /** Oldest height with state. */
  readonly oldestState: number
  /**
   * Height of the snapshot that is read because another process has the home open; the head is that
   * block then.
   */
  readonly snapshot: number | null
}

/** A range of canonical blocks; `after`: hash of the block below it that was read before. */
export interface ReadRange {
  readonly from: number
  readonly to: number
  readonly after?: Hex
}

/** Many values at once; the answer is packed bytes. */
export type ReadArguments =
  | { readonly what: 'accounts'; readonly of: { readonly block: BlockRef; readonly addresses: readonly Hex[] } }
  | { readonly what: 'slots'; readonly of: { readonly block: BlockRef; readonly address: Hex; readonly slots: readonly Hex[] } }
  | { readonly what: 'code'; readonly of: { readonly hash: Hex } }
  | { readonly what: 'blocks'; readonly of: { readonly range: ReadRange; readonly full: boolean } }
  | { readonly what: 'receipts'; readonly of: { readonly range: ReadRange } }
  | { readonly what: 'logs'; readonly of: { readonly range: ReadRange; readonly filter: JsonObject } }
  | {
      readonly what: 'rows'
      readonly of: { readonly db: string; readonly from: Hex | undefined; readonly to: Hex | undefined; readonly reverse: boolean }
    }

/** What a chain is to be a fork of. */
export interface Forking {
  /** Node to fork; the one that is forked already where absent. */
  readonly url: string | undefined
  /**
   * Block that the fork begins after, as hex; if absent, the newest one, or that of the fork if the
   * node is the same.
   */
  readonly block: Hex | undefined
}

/** Operations whose script may run in this process. */
export type ScriptedOperation = 'traceTransaction' | 'traceCall' | 'traceBlockByNumber' | 'traceBlockByHash'

/** The core's side of a script's channel: the messages that a child process would get. */
export interface ScriptChannel {
  /** Kind of the next message; 0 where none waits yet, -1 where none will come. */
  kind(): number
  /** Bytes of the next message. */
  bytes(): number
  /** Takes the next message. */
  take(into: Buffer): void
  /** Resolves once a message waits, or none will come. */
  ready(): Promise<void>
  /**
   * Blocks until a message of a kind with its bit set waits, which is the next one then; 0 for any.
   * False where none will come.
   */
  wait(kinds: number): boolean
  say(kind: number, payload: Buffer): void
}

/** A trace whose script runs in this process. */
export interface ScriptedTrace {
  readonly channel: ScriptChannel
  readonly stream: ResultStream
}

/** A node that is open. */
export interface Core {
  /** Whether this is a development chain, whose accounts' keys are here. */
  readonly dev: boolean
  /**
   * The JSON of a result: its text, without a promise, where it is ready in memory; else its bytes.
   * Rejects with `CoreError`. `core/results.ts` reads values.
   */
  request<Op extends keyof Operations>(op: Op, args: Operations[Op]): Promise<Uint8Array> | string
  /** The same core for the requests of a client; absent if clients are not distinguished. */
  withCaller?(caller: CoreCaller): Core
  /** Starts work whose result may be large. */
  stream<Op extends keyof StreamOperations>(op: Op, args: StreamOperations[Op]): ResultStream
  /**
   * The answer to a baked trace if it is ready: in the memory of this process or of the system, of
   * a moderate size, and no error. Over `gzipOver` bytes it is in gzip if it is stored so. Absent
   * if nothing is baked.
   */
  readonly readyTrace?: ((wanted: NamedTrace, options: OpenOptions) => ReadyTrace | undefined) | undefined
  /**
   * Starts a trace whose script runs in this process, over a channel; absent where there are none.
   * Throws `CoreError`.
   */
  readonly scripted?: ((op: ScriptedOperation, args: JsonObject) => ScriptedTrace) | undefined
  /**
   * Restarts the chain, as a fork if `forking` is given; absent if the chain cannot become another
   * one.
   */
  readonly resetTo?: ((forking: Forking | undefined) => Promise<void>) | undefined
  /**
   * Reads the origin of a fork from another node from now on; no effect on a chain that is no fork.
   */
  readonly moveOrigin?: ((url: string) => Promise<void>) | undefined
  /**
   * The URL of a fork's remote node, without secret parts; undefined on a chain that is no fork.
   */
  readonly originUrl?: (() => string | undefined) | undefined
  /** Takes blocks with what proves them; absent unless the data directory follows another node. */
  readonly follow?: FollowPort | undefined
  /**
   * The same core for one request: `passed` is called with the method of each request to another
   * node. Absent where nothing goes to another node.
   */
  observed?(passed: (method: string) => void): Core
  /**
   * How well each block that is held was checked; absent where every one was executed on its state.
   */
  verified?(): Verified
  /**
   * Events of chain and pool after the first `after` events since the node was opened, as JSON:
   * `{next, missed, events}` with events `["added", number, hash, transactions]`, `["removed",
   * number, hash]` and `["transaction", hash]`, numbers as JSON numbers; `missed` of them are no
   * longer kept. If there are none, it waits for one if `wait` is set.
   */
  events(after: number, wait: boolean): Promise<Uint8Array>
  /**
   * Values of the core's instruments at this moment, as JSON: an array of `{name, series}` in the
   * order of the catalogue; a series is `{labels, value}`, or `{labels, counts, sum, count}` of a
   * histogram, whose counts are not cumulative and end with the one above all bounds.
   */
  metricsSnapshot(): string
  /** What the home holds; undefined once the node is closed. */
  readonly status?: (() => HomeStatus | undefined) | undefined
  /** Takes what operators should read in the log since the last call. */
  takeLog(): readonly CoreLogEntry[]
  /** Ends the running work and closes every store. Later requests reject with the kind `closed`. */
  close(): Promise<void>
}
