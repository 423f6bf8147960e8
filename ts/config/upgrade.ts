// Rewrites a node.toml in the form of this version: values that differ from the defaults stay, all
// others are commented out, former keys get their new names. Comments of the user stay with the
// setting below them.
import { description, HEADER_START, HEADING_START, type Line, OLD_HEADER_START, settingsFile } from './file.ts'
import { isFormerKey, REMOVED, RENAMED } from './former.ts'
import { keyPlaces, type Place } from './places.ts'
import { resolveSettings, type Sources } from './resolve.ts'
import { isSettingKey, SETTING_KEYS, type SettingKey, settingOf } from './settings.ts'

type File = NonNullable<Sources['file']>

/** A rewritten file, and what became of the settings in the old one. */
export interface Upgraded {
  readonly text: string
  /** Settings that keep their value. */
  readonly kept: readonly SettingKey[]
  /** Settings that had their default as a value: their lines are commented out. */
  readonly commentedOut: readonly SettingKey[]
  readonly renamed: readonly { readonly from: string; readonly to: SettingKey }[]
  readonly removed: readonly string[]
}

/** The setting that a key stands for; undefined for a removed or unknown one. */
const settingNamed = (key: string): SettingKey | undefined => (isSettingKey(key) ? key : RENAMED[key]?.to)

/**
 * The last sentence of a description that an earlier version wrote: the default as TOML. It may be
 * broken over lines.
 */
const DEFAULT_SENTENCE = /(?:^| )Default: (\[[^\]]*\]|"(?:[^"\\]|\\.)*"|\d+\.\d+|[^\s".[\]]+)\.$/

/** A description within a paragraph of comments. */
interface Described {
  /** Index of its last line. */
  readonly end: number
  /** The default that it names, as TOML. */
  readonly value: string
}

/** Finds the description in a paragraph. */
function described(lines: readonly string[]): Described | undefined {
  const begin = lines.findLastIndex((line) => /(^# | )Default:( |$)/.test(line))
  for (let end = begin; begin >= 0 && end < lines.length; end++) {
    const sentence = lines
      .slice(begin, end + 1)
      .map((line) => line.slice(2))
      .join(' ')
    const value = DEFAULT_SENTENCE.exec(sentence)?.[1]
    if (value !== undefined) return { end, value }
  }
  return undefined
}

/** A commented out setting. */
const COMMENTED_OUT = /^#\s?([A-Za-z0-9_-]+) = (.*)$/

/** Strings and comments: what may hold a #. */
const STRINGS_AND_COMMENTS = /"""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*/g

/** The comment behind a value. */
function commentBehind(assignment: string): string | undefined {
  const last = [...assignment.matchAll(STRINGS_AND_COMMENTS)].at(-1)?.[0]
  return last?.startsWith('#') && assignment.trimEnd().endsWith(last.trimEnd()) ? last.trimEnd() : undefined
}

/** Comments of a file by the setting that they belong to. */
class Comments {
  readonly above = new Map<SettingKey, string[]>()
  /** Comments below the last setting. */
  rest: string[] = []
  private section = ''
  private paragraph: string[] = []
  private readonly lines: readonly string[]
  private readonly keys: ReadonlyMap<number, readonly [key: string, place: Place]>

  constructor(text: string) {
    this.lines = text.split(/\r?\n/)
    const places = [...keyPlaces(text)]
    this.keys = new Map(places.map(([key, place]) => [place.line, [key, place]]))
    this.read()
  }

  private read(): void {
    for (let i = 0; i < this.lines.length; i++) {
      const line = (this.lines[i] as string).trim()
      const [key, place] = this.keys.get(i + 1) ?? []
      if (line.startsWith('#')) {
        this.paragraph.push(line)
        continue
      }
      if (line.startsWith('[')) this.section = key ?? ''
      else if (place !== undefined && key !== undefined) {
        this.endParagraph(key)
        this.giveTo(settingNamed(key))
        i = place.lastLine - 1
      }
      this.endParagraph()
    }
    this.endParagraph()
  }

  /**
   * Drops the text of a paragraph that an earlier version of the program wrote, and keeps the rest.
   * `key` is the setting below it.
   */
  private endParagraph(key?: string): void {
    const lines = this.paragraph
    this.paragraph = []
    const isHeader = lines[0]?.startsWith(HEADER_START) || lines[0]?.startsWith(OLD_HEADER_START)
    const found = described(lines)
    if (found === undefined) {
      if (!isHeader) this.rest.push(...lines.filter((line) => !line.startsWith(HEADING_START)))
      return
    }
    const below = lines.slice(found.end + 1)
    const last = COMMENTED_OUT.exec(below.at(-1) ?? '')
    const named = key === undefined && last !== null ? settingNamed(`${this.section}.${last[1]}`) : undefined
    const setting = named ?? (key === undefined ? undefined : settingNamed(key))
    this.rest.push(...this.ownLinesBefore(lines.slice(0, found.end + 1), setting))
    const isGenerated = key === undefined && last?.[2] === found.value
    this.rest.push(...(isGenerated ? below.slice(0, -1) : below))
    if (named !== undefined) this.giveTo(named)
  }

  /**
   * Lines of the user before a description. The beginning of a description of another version
   * cannot be recognised.
   */
  private ownLinesBefore(lines: readonly string[], setting: SettingKey | undefined): readonly string[] {
    if (setting === undefined) return []
    const own = description(setting)
    const begin = lines.length - own.length
    return own.every((line, i) => lines[begin + i] === line) ? lines.slice(0, begin) : []
  }

  /** What was gathered belongs to a setting. */
  private giveTo(setting: SettingKey | undefined): void {
    if (setting === undefined || this.rest.length === 0) return
    this.above.set(setting, [...(this.above.get(setting) ?? []), ...this.rest])
    this.rest = []
  }
}

/** The lines of an assignment. */
const assignmentAt = (text: string, { line, lastLine }: Place): string =>
  text
    .split(/\r?\n/)
    .slice(line - 1, lastLine)
    .join('\n')

/** Rewrites a file; throws `SettingError` where it cannot be used as it is. */
export function upgradedFile(file: File): Upgraded {
  const { settings, origins } = resolveSettings({ file })
  const places = keyPlaces(file.text)
  const comments = new Comments(file.text)
  const given = SETTING_KEYS.filter((key) => origins[key] === 'file')
  // Under `hearth dev` such a setting has another default, which the value may be there to replace.
  const isChosen = (key: SettingKey): boolean =>
    settingOf(key).devDefault !== undefined || JSON.stringify(settings[key]) !== JSON.stringify(settingOf(key).default)
  const kept = given.filter(isChosen)
  const former = [...places.keys()].filter(isFormerKey)
  const renamed = former.flatMap((from) => (RENAMED[from] === undefined ? [] : [{ from, to: RENAMED[from].to }]))
  const lines = new Map<SettingKey, Line>()
  for (const key of SETTING_KEYS) {
    const above = comments.above.get(key) ?? []
    if (!kept.includes(key)) {
      if (above.length > 0) lines.set(key, { above })
      continue
    }
    const place = places.get(key) ?? places.get(renamed.find(({ to }) => to === key)?.from ?? '')
    const behind = place === undefined ? undefined : commentBehind(assignmentAt(file.text, place))
    lines.set(key, { value: settings[key], above, behind })
  }
  const text = settingsFile(lines, comments.rest)
  checkSame(file, text)
  return {
    text,
    kept,
    commentedOut: given.filter((key) => !kept.includes(key)),
    renamed,
    removed: former.filter((key) => REMOVED[key] !== undefined),
  }
}

/** A rewritten file must mean what the old one did, under `hearth start` and `hearth dev`. */
function checkSame(file: File, text: string): void {
  for (const dev of [false, true]) {
    const [before, after] = [file.text, text].map((of) => resolveSettings({ file: { path: file.path, text: of }, dev }).settings)
    const differing = SETTING_KEYS.find((key) => JSON.stringify(before?.[key]) !== JSON.stringify(after?.[key]))
    if (differing !== undefined) throw new Error(`the rewritten file changes ${differing}; the file was left as it is`)
  }
}
