// Every setting of the node, once. Flags, environment variables, node.toml, `--help` and docs/settings.md come from here.
import type { Setting } from './kinds.ts'
import { ANSWERS } from './tables/answers.ts'
import { DEV } from './tables/dev.ts'
import { LISTENERS } from './tables/listeners.ts'
import { LITTABLE } from './tables/littable.ts'
import { NODE } from './tables/node.ts'
import { OPERATIONS } from './tables/operations.ts'
import { STATE } from './tables/state.ts'
import { TRACES } from './tables/traces.ts'

/** The table: a key is `SECTION.NAME`; the section may hold dots. */
export const SETTINGS = { ...LISTENERS, ...ANSWERS, ...TRACES, ...LITTABLE, ...STATE, ...NODE, ...OPERATIONS, ...DEV } as const

/** A key of the table. */
export type SettingKey = keyof typeof SETTINGS

/** The value of each setting by its key. */
export type Settings = { readonly [K in SettingKey]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never }

/** All keys, in the order of the table. */
export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[]

/** A row of the table, its type erased. */
export const settingOf = (key: SettingKey): Setting<unknown> => SETTINGS[key] as Setting<unknown>

/** Whether a text is a key of the table. */
export const isSettingKey = (key: string): key is SettingKey => Object.hasOwn(SETTINGS, key)

/** Keys that are no more, each with what to do instead. They are refused, so that nobody believes that they still hold. */
export const REMOVED: Readonly<Record<string, string>> = {
  'littable.MetricsNamespace': 'was removed: the names of the metrics always begin with litt_; delete it',
  'littable.MetricsRegistry': 'was removed: littable records into the meter provider of the process; delete it',
  'evm.max_connections': 'was removed: it is evm.max_open_connections now',
  'evm.batch_response_max_bytes': 'was removed: it is evm.batch_response_max_size now',
  'evm.max_logs': 'was removed: it is evm.max_log_no_block now',
  'evm.logs_max_block_range': 'was removed: it is evm.max_blocks_for_log now, and 0 is no limit',
  'storage.fsync': 'was removed: it is state-commit.flatkv.fsync now',
  'storage.cache_mib': 'was removed: state-commit.flatkv.memory_budget_bytes is the memory of the state store now',
  'evm.gas_cap': 'was removed: it is evm.simulation_gas_limit now',
  'evm.trace_transaction_timeout_ms': 'was removed: it is evm.trace_transaction_timeout now, a duration such as 5s',
  'evm.trace_timeout_ms': 'was removed: it is evm.trace_timeout now, a duration such as 5m',
  'evm.trace_stall_timeout_ms': 'was removed: it is evm.trace_stall_timeout now, a duration such as 30s',
}

/** Name of the environment variable of a setting: `evm.http_port` is `HEARTH_EVM_HTTP_PORT`. */
export const environmentName = (key: string): string => `HEARTH_${key.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()}`

/** Variables with our prefix that are no settings: how the project is built and tested. Longer names that go on with _ are meant too. */
export const OWN_VARIABLES: readonly string[] = [
  'HEARTH_BIN',
  'HEARTH_CACHE',
  'HEARTH_FAULT',
  'HEARTH_FIXTURES',
  'HEARTH_FULL',
  'HEARTH_PROFILE',
  'HEARTH_SEED',
  'HEARTH_TEST',
]
