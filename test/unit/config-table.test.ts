// Tests each row of the table of settings: the default, a value from the file, the environment and
// a flag, a wrong type, and a value out of range, all by value. A setting without a row here fails
// the first test.

import { describe, expect, it } from 'vitest'
import { environmentName, resolveSettings, SETTING_KEYS, type SettingError, type SettingKey, settingOf } from '../../ts/config/index.ts'
import { ROWS } from './setting-rows.ts'

const dot = (key: SettingKey): number => key.lastIndexOf('.')
const inFile = (key: SettingKey, toml: string) => ({
  path: 'node.toml',
  text: `[${key.slice(0, dot(key))}]\n${key.slice(dot(key) + 1)} = ${toml}\n`,
})

/** What resolving refuses; empty where it does not. */
function refusal(sources: Parameters<typeof resolveSettings>[0]): readonly { where: string; message: string }[] {
  try {
    resolveSettings(sources)
  } catch (e) {
    return (e as SettingError).problems
  }
  return []
}

it('has a row for every setting', () => {
  expect(Object.keys(ROWS)).toEqual(SETTING_KEYS)
})

it('hearth dev has these defaults of its own, and no others', () => {
  const [ofStart, ofDev] = [resolveSettings({}).settings, resolveSettings({ dev: true }).settings]
  const own = SETTING_KEYS.filter((key) => JSON.stringify(ofDev[key]) !== JSON.stringify(ofStart[key]))
  expect(Object.fromEntries(own.map((key) => [key, ofDev[key]]))).toEqual({
    'evm.cors_origins': ['*'],
    'evm.ws_origins': ['localhost'],
    'evm.shutdown_delay': 0,
    'evm.max_share_per_client': 1,
    'evm.max_request_body_bytes': 134_217_728,
    'evm.max_request_values': 1_000_000,
    // Lines of slow requests would stand between the blocks of its console.
    'evm.slow_request_threshold': 0,
    'log.level': 'warn',
  })
})

describe.each(SETTING_KEYS.map((key) => [key, ...ROWS[key]] as const))('%s', (key, byDefault, text, toml, value, wrong, outside) => {
  const variable = environmentName(key)

  it('default, file, environment, flag: each wins over the former', () => {
    const file = inFile(key, toml)
    const at = (sources: Parameters<typeof resolveSettings>[0]) => {
      const { settings, origins, from } = resolveSettings(sources)
      return [settings[key], origins[key], from[key]]
    }
    const print = (v: unknown): string => String(Array.isArray(v) ? v.join(',') : v)
    const defaultText = print(settingOf(key).kind.plain(settingOf(key).default))
    expect(at({})).toEqual([byDefault, 'default', 'default'])
    expect(at({ file })).toEqual([value, 'file', 'node.toml:2:1'])
    expect(at({ environment: { [variable]: text } })).toEqual([value, 'environment', variable])
    expect(at({ environment: { [variable]: defaultText }, file })).toEqual([byDefault, 'environment', variable])
    expect(at({ flags: new Map([[key, text]]) })).toEqual([value, 'flag', `--${key}`])
    expect(at({ flags: new Map([[key, text]]), environment: { [variable]: defaultText }, file })).toEqual([value, 'flag', `--${key}`])
  })

  it('refuses wrong types and ranges, with the expected value', () => {
    const { takes } = settingOf(key).kind
    expect(refusal({ file: inFile(key, wrong) })).toEqual([
      { where: `node.toml:2:1: ${key}`, message: expect.stringContaining(`takes ${takes}, not `) },
    ])
    const message = expect.stringMatching(/^takes .+, not "/)
    expect(refusal({ environment: { [variable]: outside } })).toEqual([{ where: variable, message }])
    expect(refusal({ flags: new Map([[key, outside]]) })).toEqual([{ where: `--${key}`, message }])
  })
})
