// What a codec is, and the ones that every method shares.

/** Turns a parsed JSON value into an argument; throws `BadValue`. */
export type Codec<T> = (value: unknown) => T

/** A value that a codec refuses. `path` grows from the inside: `transaction.gas`. */
export class BadValue extends Error {
  override name = 'BadValue'
  readonly path: string
  readonly reason: string

  constructor(reason: string, path = '') {
    super(path === '' ? reason : `${path}: ${reason}`)
    this.reason = reason
    this.path = path
  }

  /** The same refusal one level further out. */
  within(name: string): BadValue {
    return new BadValue(this.reason, this.path === '' || this.path.startsWith('[') ? name + this.path : `${name}.${this.path}`)
  }
}

/** Runs a codec on a part of a value, so that a refusal names the part. */
export function part<T>(name: string, codec: Codec<T>, value: unknown): T {
  try {
    return codec(value)
  } catch (e) {
    throw e instanceof BadValue ? e.within(name) : e
  }
}

/** What a JSON value is, for messages. */
export const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

/** Any JSON value, as it is. */
export const anything: Codec<unknown> = (value) => value

/** true or false. */
export const boolean: Codec<boolean> = (value) => {
  if (typeof value !== 'boolean') throw new BadValue(`cannot use ${kindOf(value)} as a boolean`)
  return value
}

/** Longest word, in UTF-16 units. */
const WORD_MAX = 128

/** A short text: a name, an id. */
export const word: Codec<string> = (value) => {
  if (typeof value !== 'string') throw new BadValue(`json: cannot unmarshal ${kindOf(value)} into Go value of type string`)
  if (value.length > WORD_MAX) throw new BadValue(`longer than ${WORD_MAX} characters`)
  return value
}

/** A JSON object; arrays and null are none. */
export const object: Codec<Record<string, unknown>> = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BadValue(`cannot use ${kindOf(value)} as an object`)
  return value as Record<string, unknown>
}

/** An array of at most `max` values. */
export function arrayOf<T>(codec: Codec<T>, max: number): Codec<T[]> {
  return (value) => {
    if (!Array.isArray(value)) throw new BadValue(`cannot use ${kindOf(value)} as an array`)
    if (value.length > max) throw new BadValue(`too many values: ${value.length}, want at most ${max}`)
    return value.map((entry, i) => part(`[${i}]`, codec, entry))
  }
}

/**
 * What gives objects their keys in the spelling of `names`: keys are compared without case, and of
 * two that are equal then the last one counts, as in go-ethereum (encoding/json). Other keys stay.
 */
export function folding(names: readonly string[]): (from: Record<string, unknown>) => Record<string, unknown> {
  const exact = new Set(names)
  const byFolded = new Map(names.map((name) => [name.toLowerCase(), name]))
  return (from) => {
    let isExact = true
    for (const key in from) if (!exact.has(key) && byFolded.has(key.toLowerCase())) isExact = false
    if (isExact) return from
    return Object.fromEntries(Object.entries(from).map(([key, value]) => [byFolded.get(key.toLowerCase()) ?? key, value]))
  }
}

/**
 * An object with these fields, each optional; null counts as absent, and an unknown field is
 * ignored, as in go-ethereum.
 */
export function fields(shape: Readonly<Record<string, Codec<unknown>>>): Codec<Record<string, unknown>> {
  const entries = Object.entries(shape)
  const folded = folding(Object.keys(shape))
  return (value) => {
    const from = folded(object(value))
    const into: Record<string, unknown> = {}
    for (const [name, codec] of entries) {
      const entry = from[name]
      if (entry !== undefined && entry !== null) into[name] = part(name, codec, entry)
    }
    return into
  }
}

/** An object whose keys are data: each key and each value has its codec. */
export function mapOf(key: Codec<string>, codec: Codec<unknown>, max: number): Codec<Record<string, unknown>> {
  return (value) => {
    const entries = Object.entries(object(value))
    if (entries.length > max) throw new BadValue(`too many entries: ${entries.length}, want at most ${max}`)
    return Object.fromEntries(entries.map(([name, entry]) => [part(name, key, name), part(name, codec, entry)]))
  }
}
