// Puts the settings together: flag, then environment, then node.toml, then default.
import { parse as parseToml, TomlError } from 'smol-toml'
import { type Problem, SettingError } from './error.ts'
import { givenAs, isFormerKey, type Spelling, warnOfRemoved } from './former.ts'
import { type Kind, type Origin, Refused, type Setting } from './parsers.ts'
import { keyPlaces, type Place } from './places.ts'
import { environmentName, isSettingKey, SETTING_KEYS, type SettingKey, type Settings, settingOf } from './settings.ts'
import { DEV_NAMESPACES } from './tables/shared.ts'
import { unknownFlag, unknownKey, unknownVariables } from './unknown.ts'

/** Where settings are read from. */
export interface Sources {
  /** `--SECTION.KEY=VALUE` by key, text as typed. */
  readonly flags?: ReadonlyMap<string, string>
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Text of node.toml and its path for messages; absent where there is no file. */
  readonly file?: { readonly path: string; readonly text: string } | undefined
  /** Whether the defaults of `hearth dev` hold. */
  readonly dev?: boolean
}

/** All settings, and for each where its value came from. */
export interface Resolved {
  readonly settings: Settings
  readonly origins: { readonly [K in SettingKey]: Origin }
  /** The flag, variable or position in the file that a value came from; `default` for the rest. */
  readonly from: { readonly [K in SettingKey]: string }
  /** What is not wrong but probably not meant either. */
  readonly warnings: readonly string[]
}

/**
 * The keys and values of a parsed TOML document: tables are sections, everything else is a value.
 * An empty table is kept as one.
 */
function flatten(table: Record<string, unknown>, prefix: string, into: Map<string, unknown>): Map<string, unknown> {
  for (const [name, value] of Object.entries(table)) {
    const key = prefix === '' ? name : `${prefix}.${name}`
    const isTable = value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date)
    if (isTable && Object.keys(value).length > 0) flatten(value as Record<string, unknown>, key, into)
    else into.set(key, value)
  }
  return into
}

/** What the file says: values of known settings, and the place of every key. */
interface FileValues {
  readonly values: ReadonlyMap<string, unknown>
  readonly where: (key: string) => string
}

function readFile(file: NonNullable<Sources['file']>, problems: Problem[]): FileValues {
  let document: Record<string, unknown>
  try {
    document = parseToml(file.text)
  } catch (e) {
    if (!(e instanceof TomlError)) throw e
    // The first line says what; the rest draws the place, which is named here already.
    const what = (e.message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '')
    problems.push({ where: `${file.path}:${e.line}:${e.column}:`, message: `this is not TOML: ${what}` })
    return { values: new Map(), where: () => file.path }
  }
  // Most files set nothing, so that no place is needed.
  let places: ReadonlyMap<string, Place> | undefined
  const where = (key: string): string => {
    places ??= keyPlaces(file.text)
    const place = places.get(key)
    return place === undefined ? file.path : `${file.path}:${place.line}:${place.column}`
  }
  const values = flatten(document, '', new Map())
  for (const [key, value] of values) {
    const isTable = value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date)
    const isSection = isTable && SETTING_KEYS.some((known) => known.startsWith(`${key}.`))
    if (!isSettingKey(key) && !isFormerKey(key) && !isSection) problems.push({ where: `${where(key)}:`, message: unknownKey(key) })
  }
  return { values, where }
}

/** A value and where it came from. */
interface Found {
  readonly value: unknown
  readonly origin: Origin
  readonly from: string
}

/** One source of values: how it names keys, and its value of one. */
interface Source extends Spelling {
  readonly origin: Origin
  /** Where a value stands, as `hearth config print` shows it. */
  readonly from: (key: string) => string
  /**
   * Reads a value, after `convert` has changed a value of a former key to the current form; throws
   * `Refused`.
   */
  readonly read: (key: string, kind: Kind<unknown>, convert: (value: unknown) => unknown) => unknown
}

/** The sources that are there, the one that wins first. */
function sourcesOf({ flags, environment }: Sources, file: FileValues | undefined): Source[] {
  const found: Source[] = []
  const flagName = (key: string): string => `--${key}`
  if (flags !== undefined)
    found.push({
      origin: 'flag',
      has: (key) => flags.has(key),
      where: flagName,
      write: flagName,
      from: flagName,
      read: (key, kind, convert) => kind.parse(convert(flags.get(key)) as string),
    })
  if (environment !== undefined)
    found.push({
      origin: 'environment',
      has: (key) => environment[environmentName(key)] !== undefined,
      where: environmentName,
      write: environmentName,
      from: environmentName,
      read: (key, kind, convert) => kind.parse(convert(environment[environmentName(key)]) as string),
    })
  if (file !== undefined)
    found.push({
      origin: 'file',
      has: (key) => file.values.has(key),
      where: (key) => `${file.where(key)}: ${key}`,
      write: (key) => key,
      from: file.where,
      read: (key, kind, convert) => kind.check(convert(file.values.get(key))),
    })
  return found
}

function find(key: SettingKey, setting: Setting<unknown>, dev: boolean, sources: readonly Source[], problems: ReportedProblems): Found {
  const fallback: Found = {
    value: dev && setting.devDefault !== undefined ? setting.devDefault : setting.default,
    origin: 'default',
    from: 'default',
  }
  // Every source is read, so that a mistake in one that loses is reported too.
  const found = sources.flatMap((source): Found[] => {
    const given = givenAs(key, source, problems.warnings)
    if (given === undefined) return []
    try {
      return [{ value: source.read(given.key, setting.kind, given.convert), origin: source.origin, from: source.from(given.key) }]
    } catch (e) {
      if (!(e instanceof Refused)) throw e
      problems.problems.push({ where: source.where(given.key), message: e.message })
      return [fallback]
    }
  })
  return found[0] ?? fallback
}

/** What is said of the settings: what stops the program, and what does not. */
interface ReportedProblems {
  readonly problems: Problem[]
  readonly warnings: string[]
}

/** What is valid and does nothing on this kind of node. */
function idleNamespaces(settings: Settings, dev: boolean, from: string): string[] {
  const idle = settings['evm.namespaces'].filter((name) => !dev && DEV_NAMESPACES.some((ofDev) => ofDev === name))
  return idle.length === 0 ? [] : [`evm.namespaces (${from}) names ${idle.join(', ')}, which hearth dev alone serves`]
}

/** What only several settings together can get wrong. */
function checkTogether(settings: Settings, problems: Problem[]): void {
  if (!settings['evm.http_enabled'] && !settings['evm.ws_enabled']) {
    problems.push({ where: 'evm.http_enabled', message: 'and evm.ws_enabled are both false: nothing would be served; set one to true' })
  }
  if (settings['evm.debug_port'] !== 0 && !settings['evm.namespaces'].includes('debug')) {
    problems.push({
      where: 'evm.debug_port',
      message: 'is set, and evm.namespaces has no debug: nothing would be served there; add debug, or take 0',
    })
  }
  const [burst, batch] = [settings['evm.ip_rate_limit_burst'], settings['evm.batch_request_limit']]
  if (settings['evm.rate_limiting_enabled'] && burst < batch) {
    problems.push({
      where: 'evm.ip_rate_limit_burst',
      message: `is ${burst}, less than evm.batch_request_limit: a full batch could never pass; take at least ${batch}`,
    })
  }
}

/**
 * Resolves every setting; throws `SettingError` with all problems: the key, the expected value and
 * the actual one.
 */
export function resolveSettings(sources: Sources): Resolved {
  const problems: Problem[] = []
  for (const key of sources.flags?.keys() ?? []) {
    if (!isSettingKey(key) && !isFormerKey(key)) problems.push(...unknownFlag(key).problems)
  }
  const warnings = unknownVariables(sources.environment ?? {})
  const file = sources.file ? readFile(sources.file, problems) : undefined
  const all = sourcesOf(sources, file)
  for (const source of all) warnOfRemoved(source, warnings)
  const settings: Record<string, unknown> = {}
  const origins: Record<string, Origin> = {}
  const from: Record<string, string> = {}
  for (const key of SETTING_KEYS) {
    const setting = settingOf(key)
    const found = find(key, setting, sources.dev === true, all, { problems, warnings })
    ;[settings[key], origins[key], from[key]] = [found.value, found.origin, found.from]
    const isChanged = JSON.stringify(found.value) !== JSON.stringify(setting.default)
    if (setting.inert === true && isChanged) warnings.push(`${key} (${found.from}) has no effect on this version of the node`)
  }
  if (problems.length === 0) checkTogether(settings as Settings, problems)
  if (problems.length > 0) throw new SettingError(problems)
  warnings.push(...idleNamespaces(settings as Settings, sources.dev === true, from['evm.namespaces'] ?? 'default'))
  return { settings: settings as Settings, origins: origins as Resolved['origins'], from: from as Resolved['from'], warnings }
}
