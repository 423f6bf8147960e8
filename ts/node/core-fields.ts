// The settings that the core takes, in its terms: the row of a setting names the field.
import os from 'node:os'
import { SETTING_KEYS, type SettingKey, type Settings, settingOf } from '../config/index.ts'
import type { CoreFields } from '../core/config.ts'

const WEI_PER_GWEI = 1e9

/**
 * Part of the machine's memory that the process may take where the settings leave that to the
 * machine.
 */
const MEMORY_PART = 0.9

/** Parts in which the core counts shares. */
const MILLION = 1_000_000

/** Digits of wei behind the point of an ether. */
const ETHER_DIGITS = 18

/** Gas limit of a development chain's blocks where no setting says another. */
export const DEV_GAS_LIMIT = 30_000_000

/** Traces that run at the same time on any machine where the settings leave that to it. */
const TRACES_MIN = 2

/**
 * Threads for long work where the machine decides: neither one kind of work nor one client ever has
 * all of them.
 */
const HEAVY_MIN = 3

/** Threads that one kind of work may have: one processor is left for all other work. */
const permits = (setting: number | 'auto'): number => (setting === 'auto' ? Math.max(1, os.availableParallelism() - 1) : setting)

const threads = (setting: number | 'auto', least = 1): number => (setting === 'auto' ? Math.max(least, os.availableParallelism()) : setting)

/** Ether as text in wei. */
export function weiOf(ether: string): string {
  const [whole = '0', part = ''] = ether.split('.')
  return BigInt(whole + part.padEnd(ETHER_DIGITS, '0')).toString()
}

/** Memory that the process may take, in bytes; 0 is no limit. */
export function memoryBudget(setting: number | 'auto'): number {
  if (setting !== 'auto') return setting
  // 0, or more than the machine has, where no control group limits the process.
  const limit = process.constrainedMemory()
  const there = limit > 0 ? Math.min(limit, os.totalmem()) : os.totalmem()
  return Math.floor(there * MEMORY_PART)
}

/** A value in place of a word; undefined leaves the field to the core. */
const or =
  <W extends string, D>(word: W, instead: D) =>
  <V>(value: V | W): V | D =>
    value === word ? instead : (value as V)

const ownDefault = <W extends string>(word: W) => or(word, undefined)

/** Settings whose value is another one in the core's terms. */
const CONVERSIONS: { readonly [K in SettingKey]?: (value: Settings[K]) => unknown } = {
  'evm.tx_fee_cap_gwei': (fee) => or('none', 0)(fee) * WEI_PER_GWEI,
  'evm.max_trace_lookback_blocks': (blocks) => (blocks < 0 ? null : blocks),
  'evm.max_trie_lookback_blocks': (blocks) => (blocks < 0 ? null : blocks),
  'evm.max_concurrent_trace_calls': permits,
  'evm.max_concurrent_simulation_calls': permits,
  'evm.max_share_per_client': (share) => Math.max(1, Math.floor(share * MILLION)),
  'workers.read_threads': threads,
  'workers.heavy_threads': (setting) => threads(setting, HEAVY_MIN),
  'memory.budget_bytes': memoryBudget,
  'dev.gas_limit': or('auto', DEV_GAS_LIMIT),
  'dev.chain_id': ownDefault('auto'),
  'dev.hardfork': ownDefault('auto'),
  'dev.base_fee': ownDefault('auto'),
  'dev.timestamp': ownDefault('now'),
  'dev.balance': weiOf,
  'dev.block_time': ownDefault('none'),
  'dev.code_size_limit': (limit) => (limit === 'none' ? Number.MAX_SAFE_INTEGER : ownDefault('auto')(limit)),
  'dev.throw_on_revert': ownDefault('auto'),
}

/** The value of a setting in the core's terms. */
function converted<K extends SettingKey>(key: K, settings: Settings): unknown {
  const convert = CONVERSIONS[key]
  return convert === undefined ? settings[key] : convert(settings[key])
}

/**
 * Traces that run at the lowest priority: all beyond the threads that leave one processor for all
 * else.
 */
const lowTraces = (setting: number | 'auto'): number => (setting === 'auto' ? Math.max(0, TRACES_MIN - permits('auto')) : 0)

/** The fields of the core's configuration that are settings, by their paths. */
export function coreFields(settings: Settings): ReadonlyMap<string, unknown> {
  const fields = new Map<string, unknown>()
  for (const key of SETTING_KEYS) {
    const { core } = settingOf(key)
    if (core !== undefined) fields.set(core, converted(key, settings))
  }
  fields.set('workers.lowTraces', lowTraces(settings['evm.max_concurrent_trace_calls']))
  return fields
}

/** A part of the configuration: the fields whose paths begin with its name. */
export function corePart(fields: ReadonlyMap<string, unknown>, name: string): CoreFields {
  const part: Record<string, unknown> = {}
  for (const [path, value] of fields) {
    if (!path.startsWith(`${name}.`)) continue
    const [first = '', second] = path.slice(name.length + 1).split('.')
    if (second === undefined) part[first] = value
    else part[first] = { ...(part[first] as object | undefined), [second]: value }
  }
  return part
}
