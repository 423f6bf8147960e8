// The kinds of setting: how text from a flag, the environment or a TOML value becomes a checked value.

/** Where a value came from; later ones lose. */
export type Origin = 'flag' | 'environment' | 'file' | 'default'

/** A value that a setting refuses; the message says what it takes. */
export class SettingError extends Error {
  override name = 'SettingError'
}

/** One kind of setting over values of type `T`. */
export interface Kind<T> {
  /** What a reader sees in `--help` and the docs: `integer 1..65535`, say. */
  readonly takes: string
  /** Reads a flag's or a variable's text; throws a message without the key. */
  readonly parse: (text: string) => T
  /** Checks a value of the TOML file; throws a message without the key. */
  readonly check: (value: unknown) => T
  /** Text that `parse` reads back. */
  readonly print: (value: T) => string
}

/** One setting: its kind, default, unit and sentence of documentation. */
export interface Setting<T> {
  readonly kind: Kind<T>
  readonly default: T
  /** `bytes`, `ms`, …; absent where a value has no unit. */
  readonly unit?: string
  readonly doc: string
  /** It is honoured, but a new home's node.toml does not name it. */
  readonly hidden?: true
}

const refuse = (takes: string, got: unknown): never => {
  throw new SettingError(`takes ${takes}, not ${JSON.stringify(got)}`)
}

/** Whole numbers from `min` to `max`, both included; text may group digits with `_`. */
export function integer(min: number, max: number): Kind<number> {
  const takes = `an integer from ${min} to ${max}`
  const check = (value: unknown): number => {
    const n = typeof value === 'bigint' ? Number(value) : value
    return typeof n === 'number' && Number.isSafeInteger(n) && n >= min && n <= max ? n : refuse(takes, String(value))
  }
  return {
    takes,
    check,
    parse: (text) => (/^-?\d[\d_]*$/.test(text) ? check(Number(text.replaceAll('_', ''))) : refuse(takes, text)),
    print: String,
  }
}

/** Runs a check, but refuses in the words of the kind around it. */
function inWords<V, T>(takes: string, value: V, check: (value: V) => T): T {
  try {
    return check(value)
  } catch {
    return refuse(takes, value)
  }
}

/** An integer, or a word of its own meaning (`auto`, `none`). */
export function integerOr<const W extends string>(word: W, min: number, max: number): Kind<number | W> {
  const number = integer(min, max)
  const takes = `${word} or ${number.takes}`
  const isWord = (value: unknown): value is W => value === word
  return {
    takes,
    check: (value) => (isWord(value) ? value : inWords(takes, value, number.check)),
    parse: (text) => (isWord(text) ? text : inWords(takes, text, number.parse)),
    print: String,
  }
}

/** true or false. */
export const boolean: Kind<boolean> = {
  takes: 'true or false',
  check: (value) => (typeof value === 'boolean' ? value : refuse('true or false', value)),
  parse: (text) => (text === 'true' || text === 'false' ? text === 'true' : refuse('true or false', text)),
  print: String,
}

/** Text that matches a pattern; `takes` describes it. */
export function text(takes: string, pattern: RegExp): Kind<string> {
  const check = (value: unknown): string => (typeof value === 'string' && pattern.test(value) ? value : refuse(takes, value))
  return { takes, check, parse: check, print: (value) => value }
}

/** Distinct words; each matches a pattern. Text separates them with commas. */
export function list(takes: string, pattern: RegExp): Kind<readonly string[]> {
  const check = (value: unknown): readonly string[] => {
    if (!Array.isArray(value)) return refuse(takes, value)
    for (const word of value) if (typeof word !== 'string' || !pattern.test(word)) refuse(takes, word)
    return [...new Set(value as string[])]
  }
  const parse = (line: string) =>
    check(
      line
        .split(',')
        .map((word) => word.trim())
        .filter((word) => word !== ''),
    )
  return { takes, check, parse, print: (value) => value.join(',') }
}
