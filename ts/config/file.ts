// Renders node.toml: every line is commented out and shows the default, the most common settings
// first. A value in the file is then one that an operator chose, and a better default of a later
// version reaches every home with the old default.
import { meaning, nameOf, sectionOf, sections, takes, toToml } from './render.ts'
import { COMMON_KEYS, EVM_GROUPS, SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

/** What a file has of a setting besides its description. */
export interface Line {
  /** The value; `undefined` leaves the line commented out. */
  readonly value?: unknown
  /** Comments of the user above the line, with their #. */
  readonly above: readonly string[]
  /** A comment of the user behind the value, with its #. */
  readonly behind?: string | undefined
}

/** Columns of a comment in node.toml. */
const COMMENT_WIDTH = 110

/** Sections by importance; those that are not named here follow in the order of the table. */
const SECTION_ORDER = [
  'evm',
  'log',
  'metrics',
  'memory',
  'state-commit.flatkv',
  'txpool',
  'workers',
  'littable',
  'engine',
  'follow',
  'consensus',
  'rest',
  'grpc',
  'dev',
]

/** First words of the file, by which a rewrite knows its own header. */
export const HEADER_START = '# Settings of this Hearth node.'

/** First words of the header of files that version 0.1 wrote. */
export const OLD_HEADER_START = '# Settings of this node.'

/** What a heading within the file begins with. */
export const HEADING_START = '# ----'

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

const header = (): string[] =>
  comment(
    `${HEADER_START.slice(2)} Every line is commented out and shows the default: to change a setting, remove the # before it and edit its value. Flags (--evm.http_port=1) and environment variables (HEARTH_EVM_HTTP_PORT=1) win over this file. \`hearth config diff\` shows what differs from the defaults, \`hearth config check\` says whether the file is valid.`,
  )

const heading = (title: string): string => `${HEADING_START} ${title} ----`

const capital = (sentence: string): string => sentence.charAt(0).toUpperCase() + sentence.slice(1)

/** The description of a setting: what it means, what it takes, its default. */
export const description = (key: SettingKey): string[] => [
  ...comment(meaning(key)),
  ...comment(`${capital(takes(key))}. Default: ${toToml(key, settingOf(key).default)}.`),
]

const assignment = (key: SettingKey, { value, behind }: Line): string =>
  value === undefined
    ? `# ${nameOf(key)} = ${toToml(key, settingOf(key).default)}`
    : `${nameOf(key)} = ${toToml(key, value)}${behind === undefined ? '' : ` ${behind}`}`

const BARE: Line = { above: [] }

/**
 * A file with the given lines in it; `rest` are comments that belong to no setting, for its end.
 */
export function settingsFile(given: ReadonlyMap<SettingKey, Line>, rest: readonly string[] = []): string {
  // A new file names neither hidden settings nor those without an effect; one that is set stays.
  const isShown = (key: SettingKey): boolean => given.has(key) || !(settingOf(key).hidden === true || settingOf(key).inert === true)
  const entry = (key: SettingKey): string[] => {
    const line = given.get(key) ?? BARE
    return ['', ...description(key), ...line.above, assignment(key, line)]
  }
  const lines = header()
  const order = [...SECTION_ORDER, ...sections().filter((section) => !SECTION_ORDER.includes(section))]
  for (const section of order) {
    const keys = SETTING_KEYS.filter((key) => sectionOf(key) === section && isShown(key))
    if (keys.length === 0) continue
    lines.push('', `[${section}]`)
    if (section !== 'evm') {
      lines.push(...keys.flatMap(entry))
      continue
    }
    lines.push('', heading('What most people change'), ...COMMON_KEYS.flatMap(entry))
    for (const { title, keys: group } of EVM_GROUPS) {
      const others = group.filter((key) => keys.includes(key) && !COMMON_KEYS.includes(key))
      lines.push('', heading(title), ...others.flatMap(entry))
    }
  }
  if (rest.length > 0) lines.push('', ...rest)
  return `${lines.join('\n')}\n`
}

/** A new home's node.toml: every line commented out. */
export const defaultFile = (): string => settingsFile(new Map())
