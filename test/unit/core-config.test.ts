// Settings of the core: a row of the table names a field of the core's configuration, and that
// field is all that the setting changes. The fields are those of the structs in Rust.
import fs from 'node:fs'
import { describe, expect, it } from 'vitest'
import { resolveSettings, SETTING_KEYS, type SettingKey, settingOf } from '../../ts/config/index.ts'
import { CORE_CONFIG_FILE, coreConfigText } from '../../ts/node/core-config-file.ts'
import { nodeConfig } from '../../ts/node/node-config.ts'
import { ROWS } from './setting-rows.ts'

/** What the core gets for the row's text, where that is not the value of the setting. */
const CONVERTED: Partial<Record<SettingKey, unknown>> = {
  'evm.tx_fee_cap_gwei': 0,
  'evm.max_trace_lookback_blocks': null,
  'evm.max_trie_lookback_blocks': null,
  'evm.max_share_per_client': 250_000,
  'dev.balance': '500000000000000000',
}

/** Fields that no single setting has. */
const OTHER_FIELDS = ['workers.lowTraces']

/** Leaves of the configuration by their paths. */
const flat = (value: unknown, path: string): [string, unknown][] =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.entries(value).flatMap(([name, inner]) => flat(inner, path === '' ? name : `${path}.${name}`))
    : [[path, value]]

const configOf = (flags: Partial<Record<SettingKey, string>>): Record<string, unknown> =>
  Object.fromEntries(flat(nodeConfig('/h', 'start', resolveSettings({ flags: new Map(Object.entries(flags)) }).settings), ''))

const OF_CORE = SETTING_KEYS.flatMap((key) => {
  const { core } = settingOf(key)
  return core === undefined ? [] : [[key, core] as const]
})

describe('a setting of the core', () => {
  it.each(OF_CORE)('%s is %s', (key, path) => {
    const [, text, , value] = ROWS[key]
    // A number of traces leaves none to the machine, which otherwise adds some at low priority.
    const low = key === 'evm.max_concurrent_trace_calls' ? { 'workers.lowTraces': 0 } : {}
    const before = configOf({})
    const expected = key in CONVERTED ? CONVERTED[key] : value
    expect(configOf({ [key]: text })).toEqual({ ...before, ...low, [path]: expected })
    expect(before[path]).not.toEqual(expected)
  })

  it('leaves to the machine, or to the core, what a word says', () => {
    const config = configOf({
      'evm.max_share_per_client': '0.0000001',
      'evm.tx_fee_cap_gwei': '7',
      'evm.max_trace_lookback_blocks': '7',
      'dev.code_size_limit': 'none',
    })
    expect(config).toMatchObject({ 'workers.clientShare': 1, 'rpc.txFeeCapWei': 7_000_000_000, 'rpc.maxTraceLookbackBlocks': 7 })
    expect(config['dev.codeSizeLimit']).toBe(Number.MAX_SAFE_INTEGER)
    expect(configOf({})).toMatchObject({ 'dev.gasLimit': 30_000_000, 'dev.chainId': undefined, 'dev.timestamp': undefined })
    const { 'workers.traces': traces, 'workers.lowTraces': low, 'workers.heavy.threads': heavy } = configOf({})
    expect((traces as number) + (low as number)).toBeGreaterThanOrEqual(2)
    expect(heavy).toBeGreaterThanOrEqual(3)
  })
})

/** Fields of the structs of a Rust source, by struct: names in camel case, and types. */
function structsOf(source: string): Map<string, [name: string, type: string][]> {
  const structs = new Map<string, [string, string][]>()
  for (const [, name = '', body = ''] of source.matchAll(/^pub struct (\w+) \{\n(.*?)^\}/gms))
    structs.set(
      name,
      [...body.matchAll(/^ {4}pub (\w+): (.+),$/gm)].map(([, field = '', type = '']) => [
        field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
        type,
      ]),
    )
  return structs
}

it('the fields are those of the structs in Rust', () => {
  const home = new URL('../../crates/home/src/', import.meta.url)
  const files = fs.readdirSync(new URL('config/', home)).map((name) => new URL(`config/${name}`, home))
  // Settings of a component are declared by it.
  const others = ['pool/src/lib.rs', 'flatkv-storage/src/settings.rs', 'ledger/src/options.rs']
  const declared = others.map((file) => new URL(`../../crates/${file}`, import.meta.url))
  const structs = structsOf([new URL('config.rs', home), ...files, ...declared].map((file) => fs.readFileSync(file, 'utf8')).join('\n'))
  const paths = (struct: string, before: string): string[] =>
    (structs.get(struct) ?? []).flatMap(([name, type]) => (structs.has(type) ? paths(type, `${before}${name}.`) : [`${before}${name}`]))
  const ours = [...OF_CORE.map(([, path]) => path), ...OTHER_FIELDS].sort()
  // What is no setting: where the chain is, and what a command decides.
  const own = new Set(['home', 'mode', 'readOnly', 'genesis', 'engine', 'consensus', 'scripts', 'fork'])
  expect(
    paths('NodeConfig', '')
      .filter((path) => !own.has(path))
      .sort(),
  ).toEqual(ours)
})

it('the core’s test configuration is that of the defaults (docs)', () => {
  expect(fs.readFileSync(new URL(`../../${CORE_CONFIG_FILE}`, import.meta.url), 'utf8')).toBe(coreConfigText())
})
