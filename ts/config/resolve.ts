// Puts the settings together: flag, then environment, then node.toml, then default.
import { parse as parseToml } from 'smol-toml'
import { type Origin, type Setting, SettingError } from './kinds.ts'
import { nearest } from './nearest.ts'
import { environmentName, isSettingKey, SETTING_KEYS, SETTINGS, type SettingKey, type Settings } from './settings.ts'

/** Where settings are read from. */
export interface Sources {
  /** `--SECTION.KEY=VALUE` by key, text as typed. */
  readonly flags?: ReadonlyMap<string, string>
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Text of node.toml and its path for messages; absent where there is no file. */
  readonly file?: { readonly path: string; readonly text: string } | undefined
}

/** All settings, and for each where its value came from. */
export interface Resolved {
  readonly settings: Settings
  readonly origins: { readonly [K in SettingKey]: Origin }
}

const hint = (word: string, known: Iterable<string>): string => {
  const near = nearest(word, known)
  return near === undefined ? '' : `; did you mean ${near}?`
}

/** The keys and values of a parsed TOML document: tables are sections, everything else is a value. */
function flatten(table: Record<string, unknown>, prefix: string, into: Map<string, unknown>): Map<string, unknown> {
  for (const [name, value] of Object.entries(table)) {
    const key = prefix === '' ? name : `${prefix}.${name}`
    if (value !== null && typeof value === 'object' && !Array.isArray(value) && !(value instanceof Date))
      flatten(value as Record<string, unknown>, key, into)
    else into.set(key, value)
  }
  return into
}

function readFile(file: NonNullable<Sources['file']>): Map<string, unknown> {
  let document: Record<string, unknown>
  try {
    document = parseToml(file.text)
  } catch (e) {
    throw new SettingError(`${file.path} is not TOML: ${e instanceof Error ? e.message : String(e)}`)
  }
  const values = flatten(document, '', new Map())
  for (const key of values.keys())
    if (!isSettingKey(key)) throw new SettingError(`${file.path}: unknown setting ${key}${hint(key, SETTING_KEYS)}`)
  return values
}

/** Refuses variables that begin like ours and name nothing: a misspelt one would be ignored in silence otherwise. */
function checkEnvironment(environment: Readonly<Record<string, string | undefined>>): void {
  const names = SETTING_KEYS.map(environmentName)
  const sections = new Set(SETTING_KEYS.map((key) => environmentName(`${key.slice(0, key.lastIndexOf('.'))}.`)))
  for (const name of Object.keys(environment)) {
    if (!names.includes(name) && [...sections].some((section) => name.startsWith(section))) {
      throw new SettingError(`unknown environment variable ${name}${hint(name, names)}`)
    }
  }
}

function resolveOne<T>(key: SettingKey, setting: Setting<T>, sources: Sources, file: ReadonlyMap<string, unknown>): [T, Origin] {
  const attempt = (where: string, read: () => T): T => {
    try {
      return read()
    } catch (e) {
      if (e instanceof SettingError) throw new SettingError(`${where} ${e.message}`)
      throw e
    }
  }
  const flag = sources.flags?.get(key)
  if (flag !== undefined) return [attempt(`--${key}`, () => setting.kind.parse(flag)), 'flag']
  const name = environmentName(key)
  const variable = sources.environment?.[name]
  if (variable !== undefined) return [attempt(name, () => setting.kind.parse(variable)), 'environment']
  if (file.has(key)) return [attempt(`${sources.file?.path}: ${key}`, () => setting.kind.check(file.get(key))), 'file']
  return [setting.default, 'default']
}

/** Resolves every setting; throws `SettingError` with the key, what it takes and what it got. */
export function resolveSettings(sources: Sources): Resolved {
  for (const key of sources.flags?.keys() ?? []) if (!isSettingKey(key)) throw unknownFlag(key)
  if (sources.environment) checkEnvironment(sources.environment)
  const file = sources.file ? readFile(sources.file) : new Map<string, unknown>()
  const settings: Record<string, unknown> = {}
  const origins: Record<string, Origin> = {}
  for (const key of SETTING_KEYS) [settings[key], origins[key]] = resolveOne(key, SETTINGS[key] as Setting<unknown>, sources, file)
  return { settings: settings as Settings, origins: origins as Resolved['origins'] }
}

/** The error for a flag that nothing knows, with the nearest known one. `flags` are a command's own, without dashes. */
export function unknownFlag(flag: string, flags: readonly string[] = []): SettingError {
  return new SettingError(
    `unknown flag --${flag}${hint(
      `--${flag}`,
      [...flags, ...SETTING_KEYS].map((known) => `--${known}`),
    )}`,
  )
}
