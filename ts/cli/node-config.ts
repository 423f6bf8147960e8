// The configuration of the core and of the methods, from the settings.
import os from 'node:os'
import { type Settings, STRUCT_LOGGER } from '../config/index.ts'
import type { FlatkvConfig, LittableConfig, Mode, NodeConfig, ScriptsConfig } from '../core/config.ts'
import type { Core } from '../core/port.ts'
import { type ForwardOptions, forwardTo } from '../peers/forward.ts'
import type { BatchLimits } from '../rpc/dispatch.ts'
import type { Context } from '../rpc/method.ts'
import { FORWARDED_HEADER, type Submission } from '../rpc/submission.ts'
import { scriptCommand } from '../tracer/command.ts'
import { SCRIPT_NAMES } from '../tracer/names.ts'
import { devConfig } from './dev/config.ts'
import { clientVersion } from './version.ts'

const WEI_PER_GWEI = 1e9

/** The part of the available memory that the process may take if the setting is `auto`. */
const MEMORY_PART = 0.9

/** Threads that one kind of work may have: one processor is left for all other work. */
const permits = (setting: number | 'auto'): number => (setting === 'auto' ? Math.max(1, os.availableParallelism() - 1) : setting)

/** Traces that run at the same time on any machine where the settings leave that to it. */
const TRACES_MIN = 2

/**
 * Those of them that run at the lowest priority: all but those that leave one processor for all
 * other work.
 */
const lowTraces = (setting: number | 'auto'): number => (setting === 'auto' ? Math.max(0, TRACES_MIN - permits('auto')) : 0)

/** In which parts the core counts shares. */
const MILLION = 1_000_000

/** Memory that the process may take, in bytes; 0 is no limit. */
export function memoryBudget(setting: number | 'auto'): number {
  if (setting !== 'auto') return setting
  // 0, or more than the machine has, where no control group limits the process.
  const limit = process.constrainedMemory()
  const there = limit > 0 ? Math.min(limit, os.totalmem()) : os.totalmem()
  return Math.floor(there * MEMORY_PART)
}

/**
 * Threads for long work: three at least if the setting is `auto`, so that neither one kind of work
 * nor one client ever has all of them.
 */
const heavyThreads = (setting: number | 'auto'): number => (setting === 'auto' ? Math.max(3, os.availableParallelism()) : setting)

const threads = (setting: number | 'auto'): number => (setting === 'auto' ? os.availableParallelism() : setting)
const orZero = (setting: number | 'none'): number => (setting === 'none' ? 0 : setting)

/** How the ledger's tables are kept under these settings. */
export const littableConfig = (settings: Settings): LittableConfig => ({
  extraRoots: settings['littable.extra_roots'],
  allowNetworkFs: settings['littable.allow_network_fs'],
  indexMemoryBytes: settings['littable.index_memory_bytes'],
  maxOpenFiles: settings['littable.max_open_files'],
  gcPeriodMs: settings['littable.gc_period'],
  iteratorLeaseMs: settings['littable.iterator_lease'],
  segmentBytes: settings['littable.segment_bytes'],
  segmentKeys: settings['littable.segment_keys'],
  readCacheBytes: settings['littable.read_cache_bytes'],
  writeCacheBytes: settings['littable.write_cache_bytes'],
  capsuleWindowBlocks: settings['evm.trace_capsule_window_blocks'],
  addressIndex: settings['evm.address_index'],
  addressIndexWindowBlocks: settings['evm.address_index_window_blocks'],
})

/** How the state store is kept under these settings. */
export const flatkvConfig = (settings: Settings): FlatkvConfig => ({
  enableKvdbMetrics: settings['state-commit.flatkv.enable-kvdb-metrics'],
  memoryBudgetBytes: settings['state-commit.flatkv.memory_budget_bytes'],
  stateHistoryBlocks: settings['state-commit.flatkv.state_history_blocks'],
  snapshotIntervalBlocks: settings['state-commit.flatkv.snapshot_interval_blocks'],
  snapshotKeep: settings['state-commit.flatkv.snapshot_keep'],
  snapshotOnStop: settings['state-commit.flatkv.snapshot_on_stop'],
  walMaxBytes: settings['state-commit.flatkv.wal_max_bytes'],
  minFreeBytes: settings['state-commit.flatkv.min_free_bytes'],
  maxOpenFiles: settings['state-commit.flatkv.max_open_files'],
})

/** How JavaScript tracers run under these settings; null where they may not. */
export function scriptsConfig(settings: Settings, command = scriptCommand()): ScriptsConfig | null {
  if (!settings['evm.trace_allow_js_tracers']) return null
  if ('unavailable' in command) return command
  const workers = settings['evm.trace_js_workers']
  return {
    ...command,
    workers: workers === 'auto' ? 0 : workers,
    queueSize: settings['evm.trace_js_queue_size'],
    memoryBytes: settings['evm.trace_js_memory_bytes'],
    outputBytes: settings['evm.trace_js_output_bytes'],
    requireConfinement: settings['evm.trace_js_require_confinement'],
  }
}

/** Whether a node runs under CometBFT. */
export const isUnderCometbft = (mode: Mode, settings: Settings): boolean => mode === 'start' && settings['consensus.enabled']

/** The core's configuration for a home under these settings. */
export function nodeConfig(home: string, mode: Mode, settings: Settings): NodeConfig {
  return {
    home,
    mode,
    fsync: settings['state-commit.flatkv.fsync'],
    flatkv: flatkvConfig(settings),
    littable: littableConfig(settings),
    rpc: {
      gasCap: settings['evm.simulation_gas_limit'],
      callTimeoutMs: settings['evm.simulation_evm_timeout'],
      logsMaxResults: settings['evm.max_log_no_block'],
      logsMaxBytes: settings['evm.max_log_bytes'],
      logsMaxBlockRange: settings['evm.max_blocks_for_log'],
      feeHistoryMaxBlocks: settings['evm.fee_history_max_blocks'],
      txFeeCapWei: orZero(settings['evm.tx_fee_cap_gwei']) * WEI_PER_GWEI,
      allowUnprotectedTxs: settings['evm.allow_unprotected_txs'],
      poolContentMax: settings['evm.max_tx_pool_txs'],
      structLogMaxBytes: settings['evm.max_trace_struct_log_bytes'],
      traceSource: settings['evm.trace_source'],
      maxTraceLookbackBlocks: settings['evm.max_trace_lookback_blocks'] < 0 ? null : settings['evm.max_trace_lookback_blocks'],
      parallelBlockTraces: settings['evm.enable_parallelized_block_trace'],
      traceTimeoutMs: settings['evm.trace_timeout'],
    },
    bake: {
      enabled: settings['evm.trace_bake_enabled'],
      workers: settings['evm.trace_bake_workers'],
      queueSize: settings['evm.trace_bake_queue_size'],
      tracers: settings['evm.trace_bake_tracers'],
      furtherTracers: settings['evm.trace_bake_further_tracers'],
      windowBlocks: settings['evm.trace_bake_window_blocks'],
      useSnapshot: settings['evm.trace_bake_use_snapshot'],
      snapshotWindow: settings['evm.trace_bake_snapshot_window'],
      timeoutMs: settings['evm.trace_bake_timeout'],
      hotBytes: settings['evm.trace_cache_hot_bytes'],
      canonicalConfigs: settings['evm.trace_bake_canonical_configs'],
    },
    pool: {
      maxTransactions: settings['txpool.max_transactions'],
      maxPerAccount: settings['txpool.max_per_account'],
      maxBytes: settings['txpool.max_bytes'],
      maxTransactionBytes: settings['txpool.max_transaction_bytes'],
      priceBumpPercent: settings['txpool.price_bump_percent'],
      minTipWei: settings['txpool.min_tip_wei'],
    },
    workers: {
      read: { threads: threads(settings['workers.read_threads']), queue: settings['workers.read_queue'] },
      heavy: { threads: heavyThreads(settings['workers.heavy_threads']), queue: settings['workers.heavy_queue'] },
      traces: permits(settings['evm.max_concurrent_trace_calls']),
      simulations: permits(settings['evm.max_concurrent_simulation_calls']),
      waitMs: settings['workers.heavy_wait'],
      heavyNice: settings['workers.heavy_nice'],
      lowTraces: lowTraces(settings['evm.max_concurrent_trace_calls']),
      clientShare: Math.max(1, Math.floor(settings['evm.max_share_per_client'] * MILLION)),
      parkedTraces: settings['workers.parked_traces'],
    },
    engine: mode === 'start' && settings['engine.enabled'],
    memoryBudgetBytes: memoryBudget(settings['memory.budget_bytes']),
    dev: devConfig(settings),
    scripts: scriptsConfig(settings),
  }
}

/** The namespace whose testing_buildBlockV1 makes blocks from the pool. */
const TESTING = 'testing'

/**
 * What the node does with transactions that clients send. The pool is useful if blocks are made
 * from it: on a development chain, under CometBFT, if a consensus client requests payloads, and if
 * testing_buildBlockV1 is served.
 */
export function submissionOf(dev: boolean, settings: Settings, onFailure?: ForwardOptions['onFailure']): Submission {
  if (dev) return 'pool'
  const url = settings['evm.forward_url']
  const makesBlocks = settings['engine.enabled'] || settings['consensus.enabled'] || settings['evm.namespaces'].includes(TESTING)
  // Under CometBFT the pool of this node is where blocks and other nodes get transactions from.
  if (settings['consensus.enabled'] || (url === 'none' && makesBlocks)) return 'pool'
  if (url === 'none') return 'refused'
  return forwardTo({
    url,
    timeoutMs: settings['evm.forward_timeout'],
    inFlightMax: settings['evm.forward_max_in_flight'],
    headers: { [FORWARDED_HEADER]: '1' },
    ...(onFailure === undefined ? {} : { onFailure }),
  })
}

/** What the methods work with on this core, under these settings. */
export const rpcContext = (core: Core, settings: Settings, onForwardFailure?: ForwardOptions['onFailure']): Context => ({
  core,
  submission: submissionOf(core.dev, settings, onForwardFailure),
  namespaces: settings['evm.namespaces'],
  denied: settings['evm.deny_list'],
  legacyChain: new Set(settings['evm.enabled_legacy_chain_apis'].map((name) => name.toLowerCase())),
  clientVersion: settings['evm.client_version'] === 'auto' ? clientVersion(core.dev) : settings['evm.client_version'],
  trace: {
    timeoutMs: settings['evm.trace_transaction_timeout'],
    allowed: settings['evm.trace_allowed_tracers'],
    withoutTracer: STRUCT_LOGGER,
    scripts: settings['evm.trace_allow_js_tracers'],
    strictOptions: settings['evm.strict_trace_options'],
    filterMaxBlocks: settings['evm.max_trace_filter_blocks'],
    filterMaxResults: settings['evm.max_trace_filter_results'],
    scriptNames: SCRIPT_NAMES,
  },
  following: {
    filterIdleMs: settings['evm.filter_timeout'],
    heads: settings['evm.max_subscriptions_new_head'],
    logs: settings['evm.max_subscriptions_logs'],
    share: settings['evm.max_share_per_client'],
  },
  overrides: { accounts: settings['evm.max_state_override_accounts'], slots: settings['evm.max_state_override_slots'] },
})

/** Limits of batches under these settings. */
export const batchLimits = (settings: Settings): BatchLimits => ({
  requests: settings['evm.batch_request_limit'],
  values: settings['evm.max_request_values'],
  responseBytes: settings['evm.batch_response_max_size'],
  concurrency: settings['evm.batch_concurrency'],
})
