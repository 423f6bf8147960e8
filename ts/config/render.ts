// Renders the table of settings: for `--help` and for docs/settings.md.
import type { Plain, Setting } from './parsers.ts'
import { environmentName, SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

/** `evm` of `evm.http_port`. */
export const sectionOf = (key: SettingKey): string => key.slice(0, key.lastIndexOf('.'))
/** `http_port` of `evm.http_port`. */
export const nameOf = (key: SettingKey): string => key.slice(key.lastIndexOf('.') + 1)
/** Every section of the table, in its order. */
export const sections = (): string[] => [...new Set(SETTING_KEYS.map(sectionOf))]

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
export function meaning(key: SettingKey): string {
  const { doc, devDefault, inert } = settingOf(key)
  const dev = devDefault === undefined ? '' : ` Under hearth dev the default is ${plainToml(settingOf(key).kind.plain(devDefault))}.`
  return `${doc}${dev}${inert === true ? ' No effect on this version of the node.' : ''}`
}

/** A unit that the text of a value carries itself needs no naming. */
const spokenUnit = (key: SettingKey): string => {
  const { unit, kind } = settingOf(key)
  return unit === undefined || kind.takes.includes('such as') ? '' : unit
}

/** What a setting takes, with its unit. */
export const takes = (key: SettingKey): string => `${settingOf(key).kind.takes}${spokenUnit(key) === '' ? '' : `, in ${spokenUnit(key)}`}`

/** Lines for `--help`: flag, default, sentence. */
export function helpLines(): string[] {
  return SETTING_KEYS.flatMap((key) => {
    const setting = settingOf(key)
    return [`  --${key}=${toFlag(setting, setting.default)}`, `      ${meaning(key)} Takes ${takes(key)}.`]
  })
}

/** A setting as a flag with its default, and the first sentence of its description. */
export function shortHelp(key: SettingKey): { readonly flag: string; readonly doc: string } {
  const setting = settingOf(key)
  const [first = ''] = setting.doc.split(/(?<=\.)\s+(?=[A-Z0-9*])/)
  return { flag: `--${key}=${toFlag(setting, setting.default)}`, doc: first }
}

/** The page docs/settings.md. */
export function settingsPage(): string {
  const lines = [
    '# Settings',
    '',
    'Generated from `ts/config/settings.ts` by `npm run docs`. A flag `--SECTION.KEY=VALUE` wins over the environment variable, that over',
    '`config/node.toml` of the data directory, that over the default. A size is a number of bytes or text such as `"64 MiB"`, a duration is text',
    'such as `"5s"`. Where a number means that something is off or has no limit, the word `off` can be written in its place. `hearth config check`',
    'says whether the settings are valid, `print` shows every value and its source, `diff` what differs from the defaults.',
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
