// Puts the settings together: flag, then environment, then node.toml, then default.
import { parse as parseToml, TomlError } from 'smol-toml'
import { type Problem, SettingError } from './error.ts'
import { type Origin, Refused, type Setting } from './kinds.ts'
import { keyPlaces } from './places.ts'
import { environmentName, isSettingKey, SETTING_KEYS, type SettingKey, type Settings, settingOf } from './settings.ts'
import { checkEnvironment, unknownFlag, unknownKey } from './unknown.ts'

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
  /** The flag, the variable or the place in the file that a value came from; `default` for the rest. */
  readonly from: { readonly [K in SettingKey]: string }
  /** What is not wrong but probably not meant either. */
  readonly warnings: readonly string[]
}

/** The keys and values of a parsed TOML document: tables are sections, everything else is a value. An empty table is kept as one. */
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
  const places = keyPlaces(file.text)
  const where = (key: string): string => {
    const place = places.get(key)
    return place === undefined ? file.path : `${file.path}:${place.line}:${place.column}`
  }
  const values = flatten(document, '', new Map())
  for (const [key, value] of values) {
    const isTable = value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date)
    const isSection = isTable && SETTING_KEYS.some((known) => known.startsWith(`${key}.`))
    if (!isSettingKey(key) && !isSection) problems.push({ where: `${where(key)}:`, message: unknownKey(key) })
  }
  return { values, where }
}

/** A value and where it came from. */
interface Found {
  readonly value: unknown
  readonly origin: Origin
  readonly from: string
}

function find(key: SettingKey, setting: Setting<unknown>, sources: Sources, file: FileValues | undefined, problems: Problem[]): Found {
  const fallback: Found = {
    value: sources.dev === true && setting.devDefault !== undefined ? setting.devDefault : setting.default,
    origin: 'default',
    from: 'default',
  }
  const attempt = (origin: Origin, from: string, where: string, read: () => unknown): Found => {
    try {
      return { value: read(), origin, from }
    } catch (e) {
      if (!(e instanceof Refused)) throw e
      problems.push({ where, message: e.message })
      return fallback
    }
  }
  // Every source is read, so that a mistake in one that loses is told too.
  const found: Found[] = []
  const flag = sources.flags?.get(key)
  if (flag !== undefined) found.push(attempt('flag', `--${key}`, `--${key}`, () => setting.kind.parse(flag)))
  const name = environmentName(key)
  const variable = sources.environment?.[name]
  if (variable !== undefined) found.push(attempt('environment', name, name, () => setting.kind.parse(variable)))
  if (file?.values.has(key)) {
    const from = file.where(key)
    found.push(attempt('file', from, `${from}: ${key}`, () => setting.kind.check(file.values.get(key))))
  }
  return found[0] ?? fallback
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

/** Resolves every setting; throws `SettingError` with all that is wrong: the key, what it takes and what it got. */
export function resolveSettings(sources: Sources): Resolved {
  const problems: Problem[] = []
  for (const key of sources.flags?.keys() ?? []) if (!isSettingKey(key)) problems.push(...unknownFlag(key).problems)
  const environment = checkEnvironment(sources.environment ?? {})
  problems.push(...environment.problems)
  const file = sources.file ? readFile(sources.file, problems) : undefined
  const settings: Record<string, unknown> = {}
  const origins: Record<string, Origin> = {}
  const from: Record<string, string> = {}
  const warnings = [...environment.warnings]
  for (const key of SETTING_KEYS) {
    const setting = settingOf(key)
    const found = find(key, setting, sources, file, problems)
    ;[settings[key], origins[key], from[key]] = [found.value, found.origin, found.from]
    const isChanged = JSON.stringify(found.value) !== JSON.stringify(setting.default)
    if (setting.inert === true && isChanged) warnings.push(`${key} (${found.from}) has no effect on this version of the node`)
  }
  if (problems.length === 0) checkTogether(settings as Settings, problems)
  if (problems.length > 0) throw new SettingError(problems)
  return { settings: settings as Settings, origins: origins as Resolved['origins'], from: from as Resolved['from'], warnings }
}
