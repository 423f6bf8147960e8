// The kinds of setting: the conversion of text from a flag or the environment, or of a TOML value,
// into a checked value.

/** Where a value came from; later ones lose. */
export type Origin = 'flag' | 'environment' | 'file' | 'default'

/** A value that a kind refuses; the message says what it takes, without the key. */
export class Refused extends Error {
  override name = 'Refused'
}

/** A value as node.toml and JSON hold it. */
export type Plain = string | number | boolean | readonly string[]

/** One kind of setting over values of type `T`. */
export interface Kind<T> {
  /** What a reader sees in `--help` and the docs: `an integer from 1 to 65535`, say. */
  readonly takes: string
  /** Reads a flag's or a variable's text; throws `Refused`. */
  readonly parse: (text: string) => T
  /** Checks a value of the TOML file; throws `Refused`. */
  readonly check: (value: unknown) => T
  /** The value as `check` reads it back. */
  readonly plain: (value: T) => Plain
}

/** One setting: its kind, default, unit and sentences of documentation. */
export interface Setting<T> {
  readonly kind: Kind<T>
  readonly default: T
  /** Default under `hearth dev`, where it is another. */
  readonly devDefault?: T
  /** Unit of the value in the program: `bytes`, `ms`, `gas` …; absent where it has none. */
  readonly unit?: string
  readonly doc: string
  /**
   * The field of the core's configuration that it sets: `rpc.gasCap` is `gas_cap` of `RpcLimits`.
   * Absent: none.
   */
  readonly core?: string
  /** It is honoured, but a new home's node.toml does not name it. */
  readonly hidden?: true
  /**
   * Declared and checked, but without effect so far; the node.toml of a new home does not contain
   * it.
   */
  readonly inert?: true
}

/** A value as a message shows it: text in quotes, the rest bare. */
function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`
  if (value instanceof Date) return 'a date'
  return value !== null && typeof value === 'object' ? 'a table' : String(value)
}

const refuse = (takes: string, got: unknown): never => {
  throw new Refused(`takes ${takes}, not ${shown(got)}`)
}

/** Runs a check, but refuses in the words of the kind around it. */
function inWords<V, T>(takes: string, value: V, check: (value: V) => T): T {
  try {
    return check(value)
  } catch {
    return refuse(takes, value)
  }
}

/** Whole numbers from `min` to `max`, both included; text may group digits with `_`. */
export function integer(min: number, max: number): Kind<number> {
  const takes = `an integer from ${min} to ${max}`
  const check = (value: unknown): number => {
    const n = typeof value === 'bigint' ? Number(value) : value
    return typeof n === 'number' && Number.isSafeInteger(n) && n >= min && n <= max ? n : refuse(takes, value)
  }
  return {
    takes,
    check,
    parse: (text) => (/^-?\d[\d_]*$/.test(text) ? inWords(takes, text, (t) => check(Number(t.replaceAll('_', '')))) : refuse(takes, text)),
    plain: (value) => value,
  }
}

/** Numbers over 0 and up to 1. */
export const fraction: Kind<number> = {
  takes: 'a number over 0 and up to 1, such as 0.5',
  check: (value) => (typeof value === 'number' && value > 0 && value <= 1 ? value : refuse(fraction.takes, value)),
  parse: (text) =>
    /^\d*\.?\d+$/.test(text) ? inWords(fraction.takes, text, (t) => fraction.check(Number(t))) : refuse(fraction.takes, text),
  plain: (value) => value,
}

/** The values of a kind, or a word of its own meaning (`auto`, `none`). */
export function or<const W extends string, T>(word: W, kind: Kind<T>): Kind<T | W> {
  const takes = `${word} or ${kind.takes}`
  const isWord = (value: unknown): value is W => value === word
  return {
    takes,
    check: (value) => (isWord(value) ? value : inWords(takes, value, kind.check)),
    parse: (text) => (isWord(text) ? text : inWords(takes, text, kind.parse)),
    plain: (value) => (isWord(value) ? value : kind.plain(value)),
  }
}

/** Numbers of which one, `zero`, disables the feature; the word `off` is an alias for it. */
export function offAt(zero: number, kind: Kind<number>): Kind<number> {
  const takes = `off (the same as ${zero}) or ${kind.takes}`
  return {
    takes,
    check: (value) => (value === 'off' ? zero : inWords(takes, value, kind.check)),
    parse: (text) => (text === 'off' ? zero : inWords(takes, text, kind.parse)),
    plain: kind.plain,
  }
}

/** true or false. */
export const boolean: Kind<boolean> = {
  takes: 'true or false',
  check: (value) => (typeof value === 'boolean' ? value : refuse('true or false', value)),
  parse: (text) => (text === 'true' || text === 'false' ? text === 'true' : refuse('true or false', text)),
  plain: (value) => value,
}

/** Text that matches a pattern; `takes` describes it. */
export function text(takes: string, pattern: RegExp): Kind<string> {
  const check = (value: unknown): string => (typeof value === 'string' && pattern.test(value) ? value : refuse(takes, value))
  return { takes, check, parse: check, plain: (value) => value }
}

/** One of a few words. */
export function oneWord<const W extends string>(...words: readonly W[]): Kind<W> {
  const takes = `one of ${words.join(', ')}`
  const check = (value: unknown): W => words.find((word) => word === value) ?? refuse(takes, value)
  return { takes, check, parse: check, plain: (value) => value }
}

/**
 * A list of words that each pass `isFine`; a repeated word counts once. Commas separate words in
 * text. Fewer than `min` are refused.
 */
export function list(takes: string, isFine: (word: string) => boolean, min = 0): Kind<readonly string[]> {
  const check = (value: unknown): readonly string[] => {
    if (!Array.isArray(value)) return refuse(takes, value)
    for (const word of value) if (typeof word !== 'string' || !isFine(word)) refuse(takes, word)
    if (value.length < min) refuse(takes, value)
    return [...new Set(value as string[])]
  }
  const parse = (line: string) =>
    check(
      line
        .split(',')
        .map((word) => word.trim())
        .filter((word) => word !== ''),
    )
  return { takes, check, parse, plain: (value) => value }
}
