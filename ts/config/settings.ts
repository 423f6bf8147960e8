// Every setting of the node, once. Flags, environment variables, node.toml, `--help` and
// docs/settings.md are generated from it.
import { boolean, type Setting } from './parsers.ts'
import { ANSWERS } from './tables/answers.ts'
import { CONSENSUS } from './tables/consensus.ts'
import { COSMOS } from './tables/cosmos.ts'
import { DEV } from './tables/dev.ts'
import { ENGINE } from './tables/engine.ts'
import { FOLLOW } from './tables/follow.ts'
import { LISTENERS } from './tables/listeners.ts'
import { LITTABLE } from './tables/littable.ts'
import { NODE } from './tables/node.ts'
import { OPERATIONS } from './tables/operations.ts'
import { STATE } from './tables/state.ts'
import { TRACES } from './tables/traces.ts'

/** The table: a key is `SECTION.NAME`; the section may hold dots. */
export const SETTINGS = {
  ...LISTENERS,
  ...ANSWERS,
  ...TRACES,
  ...LITTABLE,
  ...STATE,
  ...NODE,
  ...ENGINE,
  ...FOLLOW,
  ...CONSENSUS,
  ...COSMOS,
  ...OPERATIONS,
  ...DEV,
} as const

/** A key of the table. */
export type SettingKey = keyof typeof SETTINGS

/** The value of each setting by its key. */
export type Settings = { readonly [K in SettingKey]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never }

/** All keys, in the order of the table. */
export const SETTING_KEYS = Object.keys(SETTINGS) as SettingKey[]

const keysOf = (table: object): SettingKey[] => Object.keys(table) as SettingKey[]

/** Groups of keys within the long section [evm], with a title for readers. */
export const EVM_GROUPS: readonly { readonly title: string; readonly keys: readonly SettingKey[] }[] = [
  { title: 'Listeners, connections and rate limits', keys: keysOf(LISTENERS) },
  { title: 'Calls, logs, filters and transactions', keys: keysOf(ANSWERS) },
  { title: 'Traces and the trace cache', keys: keysOf(TRACES) },
  { title: 'Authentication and operation', keys: keysOf(OPERATIONS).filter((key) => key.startsWith('evm.')) },
]

/**
 * The most common settings, by importance. All of them are in [evm]: a TOML file may begin each
 * section only once.
 */
export const COMMON_KEYS: readonly SettingKey[] = [
  'evm.http_host',
  'evm.http_port',
  'evm.ws_port',
  'evm.namespaces',
  'evm.cors_origins',
  'evm.allowed_hosts',
  'evm.auth_token_file',
  'evm.auth_jwt_file',
  'evm.trace_bake_enabled',
  'evm.trace_bake_tracers',
  'evm.trace_bake_further_tracers',
  'evm.forward_url',
  'evm.max_open_connections',
  'evm.rate_limiting_enabled',
  'evm.batch_request_limit',
  'evm.simulation_gas_limit',
  'evm.max_log_no_block',
  'evm.max_blocks_for_log',
]

/** A row of the table, its type erased. */
export const settingOf = (key: SettingKey): Setting<unknown> => SETTINGS[key] as Setting<unknown>

/** Whether a text is a key of the table. */
export const isSettingKey = (key: string): key is SettingKey => Object.hasOwn(SETTINGS, key)

/** Whether a key is that of a setting that is true or false. */
export const isBoolean = (key: string): boolean => isSettingKey(key) && settingOf(key).kind === boolean

/** Name of the environment variable of a setting: `evm.http_port` is `HEARTH_EVM_HTTP_PORT`. */
export const environmentName = (key: string): string => `HEARTH_${key.replace(/[^A-Za-z0-9]/g, '_').toUpperCase()}`

/**
 * Variables with the prefix HEARTH_ that are no settings: those of building and testing. Longer
 * names that continue with _ are included.
 */
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
