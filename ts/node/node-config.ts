// The configuration of the core and of the methods, from the settings.
import { type Settings, STRUCT_LOGGER } from '../config/index.ts'
import type { Mode, NodeConfig, ScriptsConfig } from '../core/config.ts'
import type { JobBase } from '../core/jobs.ts'
import type { Core } from '../core/port.ts'
import { type ForwardOptions, forwardTo } from '../peers/forward.ts'
import type { BatchLimits } from '../rpc/dispatch.ts'
import type { Context } from '../rpc/method.ts'
import { FORWARDED_HEADER, type Submission } from '../rpc/submission.ts'
import { scriptCommand } from '../tracer/command.ts'
import { SCRIPT_NAMES } from '../tracer/names.ts'
import { coreFields, corePart, memoryBudget } from './core-fields.ts'
import { clientVersion } from './version.ts'

/** What every job on the stores of a data directory has. */
export function storage(home: string, settings: Settings): JobBase {
  const fields = coreFields(settings)
  return {
    home,
    fsync: settings['state-commit.flatkv.fsync'],
    flatkv: corePart(fields, 'flatkv'),
    littable: corePart(fields, 'littable'),
  }
}

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
  const fields = coreFields(settings)
  return {
    home,
    mode,
    fsync: fields.get('fsync'),
    flatkv: corePart(fields, 'flatkv'),
    littable: corePart(fields, 'littable'),
    rpc: corePart(fields, 'rpc'),
    bake: corePart(fields, 'bake'),
    pool: corePart(fields, 'pool'),
    workers: corePart(fields, 'workers'),
    engine: mode === 'start' && settings['engine.enabled'],
    memoryBudgetBytes: memoryBudget(settings['memory.budget_bytes']),
    dev: corePart(fields, 'dev'),
    scripts: scriptsConfig(settings),
  }
}

/** The same for reading, also beside a node that has the data directory; a reader bakes nothing. */
export function readerConfig(home: string, settings: Settings): NodeConfig {
  const config = nodeConfig(home, 'start', settings)
  return { ...config, readOnly: true, bake: { ...config.bake, enabled: false } }
}

/** The namespace of testing_buildBlockV1, which builds blocks from the pool. */
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
