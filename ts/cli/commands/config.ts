// hearth config: whether the settings hold, what holds, where each value comes from, and what differs from the defaults.
import { type Resolved, SETTING_KEYS, type SettingKey, settingOf, toToml } from '../../config/index.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Command, Terminal } from '../command.ts'
import { HOME_FLAG, homeOf, settingsOf } from '../home.ts'

const defaultOf = (key: SettingKey, dev: boolean): unknown => {
  const { default: value, devDefault } = settingOf(key)
  return dev && devDefault !== undefined ? devDefault : value
}

/** Settings as JSON: each value in its unit, where it came from, and its default. */
function asJson(keys: readonly SettingKey[], { settings, origins, from }: Resolved, dev: boolean): string {
  const rows = keys.map((key) => {
    const { unit } = settingOf(key)
    const row = { value: settings[key], unit, origin: origins[key], from: from[key], default: defaultOf(key, dev) }
    return [key, row] as const
  })
  return `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`
}

function check({ origins }: Resolved): string {
  const count = (origin: string): number => SETTING_KEYS.filter((key) => origins[key] === origin).length
  return `the settings are valid: ${count('flag')} from flags, ${count('environment')} from the environment, ${count('file')} from the file, ${count('default')} by default\n`
}

const line = (key: SettingKey, { settings, from }: Resolved): string => `${key} = ${toToml(key, settings[key])}  # ${from[key]}\n`

const differing = ({ settings }: Resolved, dev: boolean): SettingKey[] =>
  SETTING_KEYS.filter((key) => JSON.stringify(settings[key]) !== JSON.stringify(defaultOf(key, dev)))

/** What each word after `hearth config` prints. */
const VIEWS: Readonly<Record<string, (resolved: Resolved, dev: boolean, json: boolean) => string>> = {
  check: (resolved, _dev, json) => (json ? '{"valid":true}\n' : check(resolved)),
  print: (resolved, dev, json) => (json ? asJson(SETTING_KEYS, resolved, dev) : SETTING_KEYS.map((key) => line(key, resolved)).join('')),
  diff: (resolved, dev, json) => {
    const keys = differing(resolved, dev)
    if (json) return asJson(keys, resolved, dev)
    return keys.map((key) => line(key, resolved).replace('  # ', `  # default ${toToml(key, defaultOf(key, dev))}; `)).join('')
  },
}

async function run(parsed: Parsed, terminal: Terminal): Promise<number> {
  const word = parsed.files[0] ?? 'print'
  const view = Object.hasOwn(VIEWS, word) ? VIEWS[word] : undefined
  if (view === undefined) throw new UsageError(`hearth config takes ${Object.keys(VIEWS).join(', ')}, not ${JSON.stringify(word)}`)
  const dev = parsed.flags.has('dev')
  const resolved = settingsOf(parsed, homeOf(parsed), terminal, { dev })
  terminal.out(view(resolved, dev, parsed.flags.has('json')))
  return 0
}

export const config: Command = {
  name: 'config',
  doc: 'check: whether the settings are valid; print (without a word, too): every setting and where it comes from; diff: what differs from the defaults.',
  flags: {
    ...HOME_FLAG,
    dev: { doc: 'With the defaults of hearth dev.' },
    json: { doc: 'Print JSON: value, unit, origin, source and default by key.' },
  },
  files: { name: '[check|print|diff]', min: 0, max: 1 },
  run,
}
