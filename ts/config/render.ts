// Renders the table of settings: for `--help`, for docs/settings.md, and for a new home's node.toml.
import type { Setting } from './kinds.ts'
import { environmentName, SETTING_KEYS, SETTINGS, type SettingKey } from './settings.ts'

const of = (key: SettingKey): Setting<unknown> => SETTINGS[key] as Setting<unknown>
const sectionOf = (key: SettingKey): string => key.slice(0, key.lastIndexOf('.'))
const nameOf = (key: SettingKey): string => key.slice(key.lastIndexOf('.') + 1)
const sections = (): string[] => [...new Set(SETTING_KEYS.map(sectionOf))]

/** A value as TOML. */
export function toToml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toToml).join(', ')}]`
  return typeof value === 'string' ? JSON.stringify(value) : String(value)
}

/** Lines for `--help`: flag, default, sentence. */
export function helpLines(): string[] {
  return SETTING_KEYS.flatMap((key) => {
    const { kind, default: value, unit, doc } = of(key)
    return [`  --${key}=${kind.print(value)}`, `      ${doc} Takes ${kind.takes}${unit ? `, in ${unit}` : ''}.`]
  })
}

/** The page docs/settings.md. */
export function settingsPage(): string {
  const lines = [
    '# Settings',
    '',
    'Generated from `ts/config/settings.ts` by `npm run docs`. A flag `--SECTION.KEY=VALUE` wins over the environment variable, that over',
    '`config/node.toml` of the home, that over the default.',
  ]
  for (const section of sections()) {
    lines.push('', `## [${section}]`, '', '| key | takes | unit | default | variable | meaning |', '|---|---|---|---|---|---|')
    for (const key of SETTING_KEYS.filter((k) => sectionOf(k) === section)) {
      const { kind, default: value, unit, doc } = of(key)
      lines.push(`| \`${nameOf(key)}\` | ${kind.takes} | ${unit ?? ''} | \`${toToml(value)}\` | \`${environmentName(key)}\` | ${doc} |`)
    }
  }
  return `${lines.join('\n')}\n`
}

/** A new home's node.toml: every setting but the hidden ones with its default, commented out. */
export function defaultFile(): string {
  const lines = ['# Settings of this node. Remove the # in front of a line to change it; `hearth config --home DIR` prints what holds.']
  for (const section of sections()) {
    const keys = SETTING_KEYS.filter((key) => sectionOf(key) === section && of(key).hidden !== true)
    if (keys.length > 0) lines.push('', `[${section}]`)
    for (const key of keys)
      lines.push(`# ${of(key).doc}`, `# ${nameOf(key)} = ${toToml(of(key).default)}`)
  }
  return `${lines.join('\n')}\n`
}
