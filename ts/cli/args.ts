// Reads a command line: a command, its own flags, its files, and any setting as --SECTION.KEY=VALUE.
import { isFormerKey, isSettingKey, nearest, type SettingKey, unknownFlag } from '../config/index.ts'

/** A command line that does not read; exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A flag of a command. */
export interface Flag {
  /** What it takes, for help: `DIR`; absent for a switch. */
  readonly value?: string
  /** It may be given several times; its values are in `lists`. */
  readonly many?: true
  /** It is another name of these settings; a switch sets them to true. */
  readonly settings?: readonly SettingKey[]
  readonly doc: string
}

/** What a command takes. */
export interface CommandShape {
  readonly flags: Readonly<Record<string, Flag>>
  /** Name of the files for help, and how many; absent where it takes none. */
  readonly files?: { readonly name: string; readonly min: number; readonly max: number }
}

/** A command line, read. */
export interface Parsed {
  /** The command's own flags; a switch has the value `true`. */
  readonly flags: ReadonlyMap<string, string>
  /** Values of the flags that may be given several times, in order. */
  readonly lists: ReadonlyMap<string, readonly string[]>
  /** Settings by key, text as typed. */
  readonly settings: ReadonlyMap<string, string>
  readonly files: readonly string[]
}

/** Reads what follows the command's name; throws `UsageError` with the nearest known flag. */
export function parseArgs(args: readonly string[], shape: CommandShape): Parsed {
  const into: Into = { flags: new Map(), lists: new Map(), settings: new Map() }
  const files: string[] = []
  const queue = [...args]
  let flagsEnded = false
  for (let arg = queue.shift(); arg !== undefined; arg = queue.shift()) {
    if (arg === '--' && !flagsEnded) {
      flagsEnded = true
    } else if (flagsEnded || !arg.startsWith('-') || arg === '-') {
      files.push(arg)
    } else {
      readFlag(arg, queue, shape, into)
    }
  }
  const { name, min, max } = shape.files ?? { name: 'FILE', min: 0, max: 0 }
  if (files.length < min) throw new UsageError(`${name} is missing`)
  if (files.length > max) throw new UsageError(`unexpected argument ${JSON.stringify(files[max])}`)
  return { ...into, files }
}

/** What is filled while a line is read. */
interface Into {
  readonly flags: Map<string, string>
  readonly lists: Map<string, string[]>
  readonly settings: Map<string, string>
}

function readFlag(arg: string, queue: string[], shape: CommandShape, { flags, lists, settings }: Into): void {
  const equals = arg.indexOf('=')
  const name = (equals < 0 ? arg : arg.slice(0, equals)).replace(/^--?/, '')
  const inline = equals < 0 ? undefined : arg.slice(equals + 1)
  const own = Object.hasOwn(shape.flags, name) ? shape.flags[name] : undefined
  const into = own !== undefined ? flags : isSettingKey(name) || isFormerKey(name) ? settings : undefined
  if (into === undefined || !arg.startsWith('--')) {
    throw new UsageError(unknownFlag(name, Object.keys(shape.flags), equals < 0 ? arg : arg.slice(0, equals)).message)
  }
  if (into.has(name) && aliasOf(name, shape, flags) === undefined) throw new UsageError(`--${name} is given twice`)
  const set = (value: string): void => {
    const keys = own?.settings ?? []
    const twice = keys.find((key) => settings.has(key))
    if (twice !== undefined) throw new UsageError(`--${name} and --${twice} are the same setting: give one of them`)
    for (const key of keys) settings.set(key, value)
    into.set(name, value)
  }
  if (own !== undefined && own.value === undefined) {
    if (inline !== undefined) throw new UsageError(`--${name} takes no value`)
    set('true')
    return
  }
  const value = inline ?? queue.shift()
  if (value === undefined) throw new UsageError(`--${name} needs a value${own?.value === undefined ? '' : `: --${name} ${own.value}`}`)
  if (own?.many === true) lists.set(name, [...(lists.get(name) ?? []), value])
  else if (own === undefined) addSetting(name, value, shape, { flags, lists, settings })
  else set(value)
}

/** The flag by whose name a setting was given. */
const aliasOf = (key: string, shape: CommandShape, given: ReadonlyMap<string, string>): string | undefined =>
  Object.entries(shape.flags).find(([flag, { settings }]) => given.has(flag) && settings?.some((named) => named === key))?.[0]

/** Sets a setting by its own name; no flag may have set it. */
function addSetting(key: string, value: string, shape: CommandShape, { flags, settings }: Into): void {
  const alias = aliasOf(key, shape, flags)
  if (alias !== undefined) throw new UsageError(`--${alias} and --${key} are the same setting: give one of them`)
  settings.set(key, value)
}

/** The error for a command that nothing knows. */
export function unknownCommand(name: string, known: readonly string[]): UsageError {
  return new UsageError(`unknown command ${JSON.stringify(name)}; did you mean ${nearest(name, known)}? Commands: ${known.join(', ')}`)
}
