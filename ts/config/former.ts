// Keys of earlier versions. They print a warning and never stop a node, so that a new version of
// the program starts with the files, variables and flags of the version before.
import { environmentName, type SettingKey } from './settings.ts'

/** A key that has another name now. */
interface Renamed {
  readonly to: SettingKey
  /** A value of the old key in the form that the new key takes, where the two differ. */
  readonly convert?: (value: unknown) => unknown
}

/** Milliseconds without a unit, as a duration. */
const inMs = (value: unknown): unknown => (/^\d+$/.test(String(value)) ? `${value}ms` : value)

/** Keys that have another name now: their value is used. */
export const RENAMED: Readonly<Record<string, Renamed>> = {
  'evm.max_connections': { to: 'evm.max_open_connections' },
  'evm.batch_response_max_bytes': { to: 'evm.batch_response_max_size' },
  'evm.max_logs': { to: 'evm.max_log_no_block' },
  'evm.logs_max_block_range': { to: 'evm.max_blocks_for_log' },
  'storage.fsync': { to: 'state-commit.flatkv.fsync' },
  'evm.gas_cap': { to: 'evm.simulation_gas_limit' },
  'evm.trace_transaction_timeout_ms': { to: 'evm.trace_transaction_timeout', convert: inMs },
  'evm.trace_timeout_ms': { to: 'evm.trace_timeout', convert: inMs },
  'evm.trace_stall_timeout_ms': { to: 'evm.trace_stall_timeout', convert: inMs },
}

/** Keys that no longer exist, each with the reason: their value is ignored. */
export const REMOVED: Readonly<Record<string, string>> = {
  'littable.MetricsNamespace': 'the names of the metrics always begin with litt_',
  'littable.MetricsRegistry': 'the metrics of littable are on the scrape page with all others',
  'storage.cache_mib': 'state-commit.flatkv.memory_budget_bytes limits the whole memory of the state store',
}

/** Whether a text is a key of an earlier version. */
export const isFormerKey = (key: string): boolean => Object.hasOwn(RENAMED, key) || Object.hasOwn(REMOVED, key)

/** The former name of each key that has one. */
const FORMER_NAME: ReadonlyMap<string, string> = new Map(Object.entries(RENAMED).map(([old, { to }]) => [to, old]))

/**
 * The spelling of keys in one source: `evm.gas_cap` in the file, `--evm.gas_cap` as a flag,
 * `HEARTH_EVM_GAS_CAP` as a variable.
 */
export interface Spelling {
  /** Whether the source has a value under this key. */
  readonly has: (key: string) => boolean
  /** The key with its place, for messages. */
  readonly where: (key: string) => string
  /** The key as it would be written. */
  readonly write: (key: string) => string
}

/**
 * The key under which a source has the value of a setting, and the conversion to a value of that
 * setting.
 */
export interface Given {
  readonly key: string
  readonly convert: (value: unknown) => unknown
}

/**
 * Finds the key under which a source gives a setting: its current key, or else its former one,
 * which adds a warning.
 */
export function givenAs(key: SettingKey, source: Spelling, warnings: string[]): Given | undefined {
  const same = (value: unknown): unknown => value
  const former = FORMER_NAME.get(key)
  const isGiven = source.has(key)
  if (former === undefined || !source.has(former)) return isGiven ? { key, convert: same } : undefined
  const name = source.write(key)
  if (isGiven) {
    warnings.push(`${source.where(former)} is ignored: it is ${name} now, which is given too; remove the old one`)
    return { key, convert: same }
  }
  warnings.push(`${source.where(former)} is ${name} now: its value is used; write the new name`)
  return { key: former, convert: RENAMED[former]?.convert ?? same }
}

/** Adds a warning for every key of a source that no longer exists. */
export function warnOfRemoved(source: Spelling, warnings: string[]): void {
  for (const [key, why] of Object.entries(REMOVED)) {
    if (source.has(key)) warnings.push(`${source.where(key)} was removed and is ignored: ${why}; delete it`)
  }
}

/** Names of the environment variables of former keys. */
export const FORMER_VARIABLES: ReadonlySet<string> = new Set([...Object.keys(RENAMED), ...Object.keys(REMOVED)].map(environmentName))
