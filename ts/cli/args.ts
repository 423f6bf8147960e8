// Reads a command line: a command, its own flags, its files, and any setting as
// --SECTION.KEY=VALUE.
import { isBoolean, isFormerKey, isSettingKey, nearest, type SettingKey, unknownFlag } from '../config/index.ts'
import { answerToCommand, answerToFlag, SAME_FLAGS, SHORT_FLAGS } from './words.ts'

/** A command line that does not read; exit code 2. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/** A flag of a command. */
export interface Flag {
  /** What it takes, for help: `DIR`; absent for a switch. */
  readonly value?: string
  /** A switch that may have one of these behind its `=`. */
  readonly choices?: readonly string[]
  /** It may be given several times; its values are in `lists`. */
  readonly many?: true
  /** It is another name of these settings; a switch sets them to `sets`. */
  readonly settings?: readonly SettingKey[]
  /** What a switch sets its settings to; true where absent. */
  readonly sets?: string
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

/** A flag as it is typed. */
interface Typed {
  /** With its dashes, for messages. */
  readonly given: string
  /** Our name of it. */
  readonly name: string
  /** The value behind =. */
  readonly inline: string | undefined
}

const isKey = (name: string): boolean => isSettingKey(name) || isFormerKey(name)

/** A flag in our words; throws `UsageError` where it is none of the command's and no setting. */
function typedFlag(arg: string, { flags }: CommandShape): Typed {
  const equals = arg.indexOf('=')
  const given = equals < 0 ? arg : arg.slice(0, equals)
  const inline = equals < 0 ? undefined : arg.slice(equals + 1)
  const isLong = given.startsWith('--')
  const word = given.replace(/^--?/, '')
  const known = (name: string | undefined): name is string => name !== undefined && (Object.hasOwn(flags, name) || isKey(name))
  const other = isLong ? SAME_FLAGS : SHORT_FLAGS
  const name = isLong && known(word) ? word : Object.hasOwn(other, word) ? other[word] : undefined
  if (known(name)) return { given, name, inline }
  const answer = isLong ? answerToFlag(word) : undefined
  if (answer !== undefined) throw new UsageError(`${given} is no flag of hearth: ${answer}`)
  throw new UsageError(unknownFlag(word, Object.keys(flags), given).message)
}

function readFlag(arg: string, queue: string[], shape: CommandShape, into: Into): void {
  const { given, name, inline } = typedFlag(arg, shape)
  const own = Object.hasOwn(shape.flags, name) ? shape.flags[name] : undefined
  if (own === undefined) {
    addSetting(given, name, inline ?? settingValue(given, name, queue), shape, into)
    return
  }
  if (own.many === true) {
    into.lists.set(name, [...(into.lists.get(name) ?? []), inline ?? nextValue(given, own, queue)])
    return
  }
  if (into.flags.has(name)) throw new UsageError(`--${name} is given twice`)
  if (own.value === undefined && inline !== undefined && own.choices?.includes(inline) !== true) {
    throw new UsageError(own.choices === undefined ? `${given} takes no value` : `${given} stands alone or is ${named(given, own.choices)}`)
  }
  addFlag(name, own, own.value === undefined ? (inline ?? 'true') : (inline ?? nextValue(given, own, queue)), into)
}

/** A switch with each of its choices. */
const named = (given: string, choices: readonly string[]): string => choices.map((choice) => `${given}=${choice}`).join(' or ')

function nextValue(given: string, own: Flag | undefined, queue: string[]): string {
  const value = queue.shift()
  if (value === undefined) throw new UsageError(`${given} needs a value${own?.value === undefined ? '' : `: ${given} ${own.value}`}`)
  return value
}

/**
 * The value of a setting without `=`: the next argument, or true for a setting that is true or
 * false.
 */
function settingValue(given: string, key: string, queue: string[]): string {
  if (!isBoolean(key)) return nextValue(given, undefined, queue)
  return queue[0] === 'true' || queue[0] === 'false' ? (queue.shift() as string) : 'true'
}

function addFlag(name: string, { settings: keys = [], sets }: Flag, value: string, { flags, settings }: Into): void {
  const twice = keys.find((key) => settings.has(key))
  if (twice !== undefined) throw new UsageError(`--${name} and --${twice} are the same setting: give one of them`)
  for (const key of keys) settings.set(key, sets ?? value)
  flags.set(name, value)
}

/**
 * Sets a setting by its own name; no flag may have set it. The last of several values holds, so
 * that a command line can be extended.
 */
function addSetting(given: string, key: string, value: string, shape: CommandShape, { flags, settings }: Into): void {
  const alias = Object.entries(shape.flags).find(
    ([flag, { settings: keys }]) => flags.has(flag) && keys?.some((named) => named === key),
  )?.[0]
  if (alias !== undefined) throw new UsageError(`--${alias} and ${given} are the same setting: give one of them`)
  settings.set(key, value)
}

/** The error for a command that nothing knows, behind the words `before`. */
export function unknownCommand(before: string, name: string, known: readonly string[]): UsageError {
  const answer = answerToCommand(before, name)
  if (answer !== undefined) return new UsageError(`there is no command ${JSON.stringify(`${before} ${name}`)}: ${answer}`)
  const near = nearest(name, known)
  const hint = near === undefined ? '' : `; did you mean ${near}?`
  return new UsageError(`unknown command ${JSON.stringify(name)}${hint}${hint === '' ? '.' : ''} Commands: ${known.join(', ')}`)
}
