// Renders the table of settings: for `--help`, for docs/settings.md, and for a new home's node.toml.
import type { Plain, Setting } from './kinds.ts'
import { environmentName, SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

const sectionOf = (key: SettingKey): string => key.slice(0, key.lastIndexOf('.'))
const nameOf = (key: SettingKey): string => key.slice(key.lastIndexOf('.') + 1)
const sections = (): string[] => [...new Set(SETTING_KEYS.map(sectionOf))]

/** A value as TOML. */
function plainToml(value: Plain): string {
  if (typeof value === 'object') return `[${value.map(plainToml).join(', ')}]`
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

/** The value of a setting as TOML. */
export const toToml = (key: SettingKey, value: unknown): string => plainToml(settingOf(key).kind.plain(value))

/** A value as a flag takes it. */
const toFlag = (setting: Setting<unknown>, value: unknown): string => {
  const plain = setting.kind.plain(value)
  return typeof plain === 'object' ? plain.join(',') : String(plain)
}

/** What a setting means, in sentences. */
function meaning(key: SettingKey): string {
  const { doc, devDefault, inert } = settingOf(key)
  const dev = devDefault === undefined ? '' : ` Under hearth dev the default is ${plainToml(settingOf(key).kind.plain(devDefault))}.`
  return `${doc}${dev}${inert === true ? ' No effect on this version of the node.' : ''}`
}

/** A unit that the text of a value carries itself needs no naming. */
const spokenUnit = (key: SettingKey): string => {
  const { unit, kind } = settingOf(key)
  return unit === undefined || kind.takes.includes('such as') ? '' : unit
}

const takes = (key: SettingKey): string => `${settingOf(key).kind.takes}${spokenUnit(key) === '' ? '' : `, in ${spokenUnit(key)}`}`

const capital = (sentence: string): string => sentence.charAt(0).toUpperCase() + sentence.slice(1)

/** Lines for `--help`: flag, default, sentence. */
export function helpLines(): string[] {
  return SETTING_KEYS.flatMap((key) => {
    const setting = settingOf(key)
    return [`  --${key}=${toFlag(setting, setting.default)}`, `      ${meaning(key)} Takes ${takes(key)}.`]
  })
}

/** The page docs/settings.md. */
export function settingsPage(): string {
  const lines = [
    '# Settings',
    '',
    'Generated from `ts/config/settings.ts` by `npm run docs`. A flag `--SECTION.KEY=VALUE` wins over the environment variable, that over',
    '`config/node.toml` of the home, that over the default. A size is a number of bytes or text such as `"64 MiB"`, a duration is text such as',
    '`"5s"`; where a number switches a matter off, the word `off` stands for it. `hearth config check` reads all of them, `print` shows what',
    'holds and where it comes from, `diff` what differs from the defaults.',
  ]
  for (const section of sections()) {
    lines.push('', `## [${section}]`, '', '| key | takes | unit | default | variable | meaning |', '|---|---|---|---|---|---|')
    for (const key of SETTING_KEYS.filter((k) => sectionOf(k) === section)) {
      const { kind, default: value, hidden } = settingOf(key)
      const said = `${meaning(key)}${hidden === true ? ' A new home’s node.toml does not name it.' : ''}`
      lines.push(
        `| \`${nameOf(key)}\` | ${kind.takes} | ${spokenUnit(key)} | \`${toToml(key, value)}\` | \`${environmentName(key)}\` | ${said} |`,
      )
    }
  }
  return `${lines.join('\n')}\n`
}

/** Columns of a comment in node.toml. */
const COMMENT_WIDTH = 110

/** A text as comment lines, broken between words. */
function comment(text: string): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < COMMENT_WIDTH) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(`# ${word}`)
  }
  return lines
}

/** A new home's node.toml: every setting but the hidden ones with its default; commented out where the default depends on the command. */
export function defaultFile(): string {
  const lines = comment(
    'Settings of this node. Flags and HEARTH_… variables win over this file; `hearth config print --home DIR` shows what holds.',
  )
  for (const section of sections()) {
    const keys = SETTING_KEYS.filter((key) => sectionOf(key) === section && settingOf(key).hidden !== true)
    if (keys.length > 0) lines.push('', `[${section}]`)
    for (const key of keys) {
      const { default: value, devDefault } = settingOf(key)
      lines.push('', ...comment(meaning(key)), ...comment(`${capital(takes(key))}. Default: ${toToml(key, value)}.`))
      lines.push(`${devDefault === undefined ? '' : '# '}${nameOf(key)} = ${toToml(key, value)}`)
    }
  }
  return `${lines.join('\n')}\n`
}
