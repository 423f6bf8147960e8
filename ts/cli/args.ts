// Reads a command line: a command, its own flags, its files, and any setting as
// --SECTION.KEY=VALUE. Node's `parseArgs` splits it; the tables of flags and settings say what each
// flag takes.
import { parseArgs as split } from 'node:util'
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
  const tokens = tokensOf(args, shape)
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    if (token.kind === 'option-terminator') continue
    const arg = args[token.index] as string
    if (token.kind === 'positional') {
      files.push(arg)
      continue
    }
    const flag = typedFlag(arg, shape)
    // A setting that is true or false may have its value behind it, or none.
    const isSwitch = token.value === undefined && takesTruth(flag.name, shape) && isTruth(args, tokens[0])
    readFlag(flag, isSwitch ? args[(tokens.shift() as Token).index] : givenValue(args, token), shape, into)
  }
  const { name, min, max } = shape.files ?? { name: 'FILE', min: 0, max: 0 }
  if (files.length < min) throw new UsageError(`${name} is missing`)
  if (files.length > max) throw new UsageError(`unexpected argument ${JSON.stringify(files[max])}`)
  return { ...into, files }
}

/** A part of a line, as Node splits it. */
type Token = NonNullable<ReturnType<typeof split>['tokens']>[number]

/**
 * The parts of a line. Node sees the flags by our names, as it reads `-vv` as two flags; what it
 * took for a flag may be a value or a file, which `args` has as it was typed.
 */
function tokensOf(args: readonly string[], shape: CommandShape): Token[] {
  const options: Record<string, { type: 'string' | 'boolean' }> = {}
  const line = args.map((arg) => {
    const { name, inline } = knownFlag(arg, shape) ?? {}
    if (name === undefined) return arg
    options[name] = { type: takesValue(name, shape) ? 'string' : 'boolean' }
    return `--${name}${inline === undefined ? '' : `=${inline}`}`
  })
  return split({ args: line, options, strict: false, allowPositionals: true, tokens: true }).tokens
}

/** The value of a flag as it was typed. */
function givenValue(args: readonly string[], token: Extract<Token, { kind: 'option' }>): string | undefined {
  return token.value === undefined || token.inlineValue ? token.value : args[token.index + 1]
}

const ownFlag = (name: string, { flags }: CommandShape): Flag | undefined => (Object.hasOwn(flags, name) ? flags[name] : undefined)

/** Whether a flag needs a value. */
function takesValue(name: string, shape: CommandShape): boolean {
  const own = ownFlag(name, shape)
  return own === undefined ? !isBoolean(name) : own.value !== undefined || own.many === true
}

const takesTruth = (name: string, shape: CommandShape): boolean => ownFlag(name, shape) === undefined && isBoolean(name)

const isTruth = (args: readonly string[], token: Token | undefined): boolean =>
  token?.kind === 'positional' && /^(true|false)$/.test(args[token.index] as string)

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

/** An argument as a flag that is known; undefined for any other argument. */
function knownFlag(arg: string, shape: CommandShape): Typed | undefined {
  const { given, word, inline } = partsOf(arg)
  const isLong = given.startsWith('--')
  const known = (name: string | undefined): name is string => name !== undefined && (ownFlag(name, shape) !== undefined || isKey(name))
  const other = isLong ? SAME_FLAGS : SHORT_FLAGS
  const name = isLong && known(word) ? word : Object.hasOwn(other, word) ? other[word] : undefined
  return arg.startsWith('-') && known(name) ? { given, name, inline } : undefined
}

/** A flag with its dashes, without them, and the value behind =. */
function partsOf(arg: string): { readonly given: string; readonly word: string; readonly inline: string | undefined } {
  const equals = arg.indexOf('=')
  const given = equals < 0 ? arg : arg.slice(0, equals)
  return { given, word: given.replace(/^--?/, ''), inline: equals < 0 ? undefined : arg.slice(equals + 1) }
}

/** A flag in our words; throws `UsageError` where it is none of the command's and no setting. */
function typedFlag(arg: string, shape: CommandShape): Typed {
  const known = knownFlag(arg, shape)
  if (known !== undefined) return known
  const { given, word } = partsOf(arg)
  const answer = given.startsWith('--') ? answerToFlag(word) : undefined
  if (answer !== undefined) throw new UsageError(`${given} is no flag of hearth: ${answer}`)
  throw new UsageError(unknownFlag(word, Object.keys(shape.flags), given).message)
}

function readFlag({ given, name, inline }: Typed, value: string | undefined, shape: CommandShape, into: Into): void {
  const own = ownFlag(name, shape)
  const isSwitch = !takesValue(name, shape)
  if (own !== undefined && own.many !== true) {
    if (into.flags.has(name)) throw new UsageError(`--${name} is given twice`)
    if (isSwitch && inline !== undefined && own.choices?.includes(inline) !== true) {
      throw new UsageError(
        own.choices === undefined ? `${given} takes no value` : `${given} stands alone or is ${named(given, own.choices)}`,
      )
    }
  }
  if (value === undefined && !isSwitch)
    throw new UsageError(`${given} needs a value${own?.value === undefined ? '' : `: ${given} ${own.value}`}`)
  const text = value ?? 'true'
  if (own === undefined) addSetting(given, name, text, shape, into)
  else if (own.many === true) into.lists.set(name, [...(into.lists.get(name) ?? []), text])
  else addFlag(name, own, text, into)
}

/** A switch with each of its choices. */
const named = (given: string, choices: readonly string[]): string => choices.map((choice) => `${given}=${choice}`).join(' or ')

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
