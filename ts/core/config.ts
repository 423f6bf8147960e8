// What the core is told when it opens a home: every field, since the core has no defaults of its own.
import os from 'node:os'
import type { Settings } from '../config/index.ts'

/** `start` serves a chain as it is, `dev` makes a block for each transaction. */
export type Mode = 'start' | 'dev'

/** The core's configuration, as it crosses in JSON. */
export interface NodeConfig {
  readonly home: string
  readonly mode: Mode
  readonly fsync: string
  readonly caches: { readonly stateBytes: number }
  readonly rpc: {
    readonly gasCap: number
    readonly logsMaxResults: number
    /** 0 is no limit. */
    readonly logsMaxBlockRange: number
    readonly feeHistoryMaxBlocks: number
    /** 0 is no cap. */
    readonly txFeeCapWei: number
    readonly allowUnprotectedTxs: boolean
  }
  readonly pool: { readonly maxTransactions: number; readonly maxPerAccount: number; readonly maxTransactionBytes: number }
  readonly workers: { readonly read: WorkerConfig; readonly heavy: WorkerConfig }
  readonly dev: { readonly gasLimit: number }
}

interface WorkerConfig {
  readonly threads: number
  readonly queue: number
}

const MIB = 1024 * 1024
const WEI_PER_GWEI = 1e9

const threads = (setting: number | 'auto'): number => (setting === 'auto' ? os.availableParallelism() : setting)
const orZero = (setting: number | 'none'): number => (setting === 'none' ? 0 : setting)

/** The core's configuration for a home under these settings. */
export function nodeConfig(home: string, mode: Mode, settings: Settings): NodeConfig {
  return {
    home,
    mode,
    fsync: settings['storage.fsync'],
    caches: { stateBytes: settings['storage.cache_mib'] * MIB },
    rpc: {
      gasCap: settings['evm.gas_cap'],
      logsMaxResults: settings['evm.max_logs'],
      logsMaxBlockRange: orZero(settings['evm.logs_max_block_range']),
      feeHistoryMaxBlocks: settings['evm.fee_history_max_blocks'],
      txFeeCapWei: orZero(settings['evm.tx_fee_cap_gwei']) * WEI_PER_GWEI,
      allowUnprotectedTxs: settings['evm.allow_unprotected_txs'],
    },
    pool: {
      maxTransactions: settings['txpool.max_transactions'],
      maxPerAccount: settings['txpool.max_per_account'],
      maxTransactionBytes: settings['txpool.max_transaction_bytes'],
    },
    workers: {
      read: { threads: threads(settings['workers.read_threads']), queue: settings['workers.read_queue'] },
      heavy: { threads: threads(settings['workers.heavy_threads']), queue: settings['workers.heavy_queue'] },
    },
    dev: { gasLimit: settings['dev.gas_limit'] },
  }
}
