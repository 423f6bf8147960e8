// hearth config: checks, prints and compares the settings, and rewrites the settings file in the
// form of this version.
import fs from 'node:fs'
import {
  helpLines,
  REMOVED,
  type Resolved,
  SETTING_KEYS,
  type SettingKey,
  settingOf,
  toToml,
  type Upgraded,
  upgradedFile,
} from '../../config/index.ts'
import { settingsFile } from '../../node/settings-file.ts'
import { type Parsed, UsageError } from '../args.ts'
import { checkFiles, checkHome } from '../check-files.ts'
import type { Command, Terminal } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { HOME_FLAG, homeOf, settingsOf } from '../home.ts'

const defaultOf = (key: SettingKey, dev: boolean): unknown => {
  const { default: value, devDefault } = settingOf(key)
  return dev && devDefault !== undefined ? devDefault : value
}

const isDefault = (key: SettingKey, settings: Resolved['settings'], dev: boolean): boolean =>
  JSON.stringify(settings[key]) === JSON.stringify(defaultOf(key, dev))

/** Settings as JSON: each value in its unit, where it came from, and its default. */
function asJson(keys: readonly SettingKey[], { settings, origins, from }: Resolved, dev: boolean): string {
  const rows = keys.map((key) => {
    const { unit } = settingOf(key)
    const row = { value: settings[key], unit, origin: origins[key], from: from[key], default: defaultOf(key, dev) }
    return [key, row] as const
  })
  return `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`
}

function check({ origins, settings }: Resolved): string {
  const of = (origin: string): SettingKey[] => SETTING_KEYS.filter((key) => origins[key] === origin)
  const count = (origin: string): number => of(origin).length
  const idle = of('file').filter((key) => isDefault(key, settings, false)).length
  const note = idle === 0 ? '' : `values in the file that equal the default: ${idle} (\`hearth config upgrade\` comments them out)\n`
  return `the settings are valid: ${count('flag')} from flags, ${count('environment')} from the environment, ${count('file')} from the file, ${count('default')} by default\n${note}`
}

const line = (key: SettingKey, { settings, from }: Resolved): string => `${key} = ${toToml(key, settings[key])}  # ${from[key]}\n`

const differing = ({ settings }: Resolved, dev: boolean): SettingKey[] => SETTING_KEYS.filter((key) => !isDefault(key, settings, dev))

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

/** A name beside a file that is not taken yet. */
function freeName(file: string): string {
  for (let n = 1; ; n++) if (!fs.existsSync(`${file}.old-${n}`)) return `${file}.old-${n}`
}

const counted = (n: number, what: string): string => `${n} ${n === 1 ? 'setting' : 'settings'} ${what}`

/** What a rewrite did, for a reader. */
function upgradeText(file: string, old: string, { kept, commentedOut, renamed, removed }: Upgraded): string {
  const lines = [
    `rewrote ${file}: ${counted(kept.length, 'kept')}, ${counted(commentedOut.length, 'commented out because the value is the default')}`,
    ...kept.map((key) => `  kept ${key}`),
    ...renamed.map(({ from, to }) => `  renamed ${from} to ${to}`),
    ...removed.map((key) => `  removed ${key}: ${REMOVED[key]}`),
    `the old file is ${old}`,
  ]
  return lines.map((line) => `${line}\n`).join('')
}

/**
 * Rewrites the settings file of a home in the form of this version; the old file is kept under
 * another name.
 */
function upgrade(home: string): string {
  const file = settingsFile(home)
  if (!fs.existsSync(file)) throw new UsageError(`${file} does not exist: \`hearth init\` writes one`)
  const text = fs.readFileSync(file, 'utf8')
  const upgraded = upgradedFile({ path: file, text })
  if (upgraded.text === text) return `${file} has the form of this version already\n`
  const old = freeName(file)
  const draft = `${file}.${process.pid}`
  const { mode, uid, gid } = fs.statSync(file)
  fs.copyFileSync(file, old, fs.constants.COPYFILE_EXCL)
  fs.writeFileSync(draft, upgraded.text, { mode })
  // Under sudo both would be root's, and the user of the node could not read its settings.
  if (process.getuid?.() === 0) for (const made of [old, draft]) fs.chownSync(made, uid, gid)
  fs.renameSync(draft, file)
  return upgradeText(file, old, upgraded)
}

/** What a word prints. */
function viewed(word: string, parsed: Parsed, terminal: Terminal, dev: boolean): string {
  const home = homeOf(parsed)
  // `hearth dev` makes its home.
  if (word === 'check' && !dev && parsed.flags.has('home')) checkHome(home)
  const resolved = settingsOf(parsed, home, terminal, { dev })
  if (word === 'check') checkFiles(resolved, dev)
  return VIEWS[word]?.(resolved, dev, parsed.flags.has('json')) ?? ''
}

const WORDS = [...Object.keys(VIEWS), 'list', 'upgrade']

async function run(parsed: Parsed, terminal: Terminal): Promise<number> {
  const word = parsed.files[0] ?? 'print'
  if (!WORDS.includes(word)) throw new UsageError(`hearth config takes ${WORDS.join(', ')}, not ${JSON.stringify(word)}`)
  const dev = parsed.flags.has('dev')
  if (word === 'list') terminal.out(`${helpLines().join('\n')}\n`)
  else if (word === 'upgrade') terminal.out(upgrade(homeOf(parsed)))
  else terminal.out(viewed(word, parsed, terminal, dev))
  return 0
}

export const config: Command = {
  name: 'config',
  doc: COMMAND_DOCS.config,
  more: [
    'check    whether the settings are valid and the files that they name can be used',
    'print    every setting, its value and its source (the default)',
    'diff     the settings that differ from the defaults',
    'list     every setting: flag, default, meaning',
    'upgrade  rewrites config/node.toml in the form of this version: values that differ from the',
    '         defaults and your comments stay, renamed keys get their new names, and the old file',
    '         is kept beside the new one',
  ],
  flags: {
    ...HOME_FLAG,
    dev: { doc: 'Use the defaults of hearth dev.' },
    json: { doc: 'Print JSON: value, unit, origin, source and default by key.' },
  },
  files: { name: `[${WORDS.join('|')}]`, min: 0, max: 1 },
  run,
}
