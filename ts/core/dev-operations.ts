// What the core does on a development chain alone.
import type { Data, Hex, JsonObject } from './port.ts'

/** How blocks are made; quantities are hex. */
export interface MineArguments {
  /** How many; one where absent. */
  readonly count?: Hex | undefined
  /** Seconds between two blocks. */
  readonly interval?: Hex | undefined
  /** Whether the interval also applies between the head and the first block. */
  readonly first?: boolean
  /** Time of the first one, in seconds. */
  readonly timestamp?: Hex | undefined
}

/** A transaction for a block of a new branch: exactly one of `raw` and `transaction`. */
export interface ReorgTransaction {
  readonly raw?: Hex
  readonly transaction?: JsonObject
  /** Which of the new blocks, from 0. */
  readonly block: Hex
}

/** Operations of a development chain; what is said of no answer is null. */
export interface DevOperations {
  mine: MineArguments
  /** The new blocks with their transactions. */
  mineDetailed: MineArguments
  /** Seconds by which the clock goes before the machine's, a number. */
  increaseTime: { seconds: Hex }
  setNextBlockTimestamp: { timestamp: Hex }
  /** Seconds by which the clock was moved, a number. */
  setTime: { timestamp: Hex }
  setAutomine: { enabled: boolean }
  getAutomine: undefined
  /** 0: never by itself. */
  setIntervalMining: { milliseconds: Hex }
  /** Whole seconds, a number, or null. */
  getIntervalMining: undefined
  setBlockTimestampInterval: { seconds: Hex }
  /** Whether there was one. */
  removeBlockTimestampInterval: undefined
  /** Its number. */
  snapshot: undefined
  /** Whether there was such a snapshot. */
  revert: { id: Hex }
  setNextBlockBaseFee: { fee: Hex }
  setChainId: { id: Hex }
  setMinGasPrice: { price: Hex }
  setBlockGasLimit: { limit: Hex }
  setCoinbase: { address: Hex }
  setPrevRandao: { value: Hex }
  rollback: { depth: Hex }
  reorg: { depth: Hex; transactions: readonly ReorgTransaction[] }
  setBalance: { address: Hex; balance: Hex }
  addBalance: { address: Hex; balance: Hex }
  setCode: { address: Hex; code: Data }
  setNonce: { address: Hex; nonce: Hex }
  setStorageAt: { address: Hex; slot: Hex; value: Hex }
  impersonate: { address: Hex }
  stopImpersonating: { address: Hex }
  autoImpersonate: { enabled: boolean }
  /** Its hash, or null where it does not wait. */
  dropTransaction: { hash: Hex }
  dropAllTransactions: undefined
  removePoolTransactions: { address: Hex }
  reset: undefined
  /** Gzip of JSON, in hex. */
  dumpState: undefined
  loadState: { state: Data }
  nodeInfo: undefined
  metadata: { clientVersion: string; hardhat?: boolean }
  /** Blobs as a list, or null. */
  blobsOfTransaction: { hash: Hex }
  /** A blob, or null. */
  blobByHash: { hash: Hex }
  dealErc20: { address: Hex; token: Hex; balance: Hex }
  setErc20Allowance: { owner: Hex; spender: Hex; token: Hex; amount: Hex }
  /** Its hash. */
  sendUnsignedTransaction: { transaction: JsonObject }
  setLoggingEnabled: { enabled: boolean }
}
