// One pass over the text of a request before it is parsed: applies the limits of nesting, values
// and batch size, and finds the raw ids.
import { batchTooLarge, limitExceeded, parseError, RpcError } from './errors.ts'

/** Limits that a request must keep before any of it is parsed. */
export interface RequestLimits {
  /** Most requests in one batch. */
  readonly requests: number
  /**
   * Most array elements and object members in one message, all levels together; an empty array or
   * object counts as one. No limit if absent.
   */
  readonly values?: number
}

/**
 * Deepest nesting of arrays and objects in a request. Trace configurations need fewer than ten
 * levels.
 */
export const NESTING_MAX = 128

/**
 * Longest key with escapes that is decoded, in UTF-16 units: `"method"` with every character
 * written as \u0000.
 */
const ESCAPED_KEY_MAX = 38

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** What the pass stops at. */
const STRUCTURE = /["[\]{},:]/g

/**
 * Characters that are checked one by one before the end of a run without structure is searched: a
 * number, a word or white space.
 */
const RUN_MAX = 24

const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09

/**
 * The position of the first character that is not white space of JSON; the end of the text if all
 * is. A loop: a regular expression takes twice as long.
 */
function behindSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && isSpace(text.charCodeAt(at))) at++
  return at
}

/** A part of the text. */
interface Range {
  readonly from: number
  readonly to: number
}

/** What the pass finds of a message that keeps the limits. */
export interface Scanned {
  /**
   * The raw id of each request: of one, or of each entry of a batch; undefined if it has none or is
   * no object.
   */
  readonly ids: readonly (string | undefined)[]
}

/** A batch with more requests than the limit. Only one request beyond the limit was looked at. */
export class BatchTooLarge extends RpcError {
  /** The raw text of the id of the first request that has one. */
  readonly id: string | undefined
  /** The method of each request that was looked at; undefined where no name could be read. */
  readonly methods: readonly (string | undefined)[]

  constructor({ code, message }: RpcError, id: string | undefined, methods: readonly (string | undefined)[]) {
    super(code, message)
    this.id = id
    this.methods = methods
  }
}

/** The value of a piece of JSON; undefined where it is none. */
function decoded(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The name of a method by its JSON; undefined where it is none. */
function nameOf(json: string): string | undefined {
  const name = decoded(json)
  return typeof name === 'string' && name !== '' ? name : undefined
}

/**
 * Reads the structure of a text that may or may not be JSON: brackets, commas, colons and strings.
 * JSON.parse, which runs only on texts within the limits, decides whether it is JSON. JSON.parse by
 * itself would also turn the ids 1.0, 9007199254740993 and "\u0061" into something that the client
 * did not write.
 */
export class Scanner {
  private readonly text: string
  private readonly limits: RequestLimits
  /** Position of the next backslash at or after the last string that was read. */
  private escape = -1
  /** Depth at which the members of a request are. */
  private memberDepth = 1
  private values = 0
  private key: Range | undefined
  /** Where the value behind the last colon begins; -1 where there is none. */
  private valueFrom = -1
  private id: Range | undefined
  private method: Range | undefined
  private readonly ids: (string | undefined)[] = []
  private readonly methods: (Range | undefined)[] = []

  constructor(text: string, limits: RequestLimits) {
    this.text = text
    this.limits = limits
  }

  /** Throws `RpcError` where a limit is exceeded, as soon as that is known. */
  scan(): Scanned {
    const { text } = this
    const at = behindSpace(text, 0)
    if (text.charCodeAt(at) === OPEN_BRACKET) this.memberDepth = 2
    if (!this.isEmptyBatch(at)) this.structure(at)
    return { ids: this.ids }
  }

  private isEmptyBatch(from: number): boolean {
    if (this.memberDepth === 1) return false
    return this.text.charCodeAt(behindSpace(this.text, from + 1)) === CLOSE_BRACKET
  }

  private structure(from: number): void {
    const { text, memberDepth } = this
    const end = text.length
    const most = this.limits.values ?? Number.POSITIVE_INFINITY
    let depth = 0
    let at = from
    let runFrom = from
    while (at < end) {
      const c = text.charCodeAt(at)
      if (c !== COMMA && c !== QUOTE && c !== COLON && (c | 0x20) !== OPEN_BRACE && (c | 0x20) !== CLOSE_BRACE) {
        at = at - runFrom < RUN_MAX ? at + 1 : this.structureAt(at)
        continue
      }
      if (c === QUOTE) {
        const to = this.stringEnd(at + 1)
        // The first string of a member is its key.
        if (depth === memberDepth && this.key === undefined) this.key = { from: at, to }
        at = to
        runFrom = at
        continue
      }
      if (c === COMMA) {
        if (++this.values > most) throw this.tooManyValues(most)
        if (depth === memberDepth) this.endMember(at)
        else if (depth < memberDepth) this.endRequest()
      } else if (c === COLON) {
        if (depth === memberDepth) this.valueFrom = at + 1
      } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
        if (++this.values > most) throw this.tooManyValues(most)
        if (++depth > NESTING_MAX) throw parseError()
      } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
        if (depth === memberDepth) this.endMember(at)
        if (--depth <= 0) break
      }
      at++
      runFrom = at
    }
    this.endRequest()
  }

  /** The position of the next character of structure; the end of the text where there is none. */
  private structureAt(from: number): number {
    STRUCTURE.lastIndex = from
    return STRUCTURE.test(this.text) ? STRUCTURE.lastIndex - 1 : this.text.length
  }

  /**
   * The position after the string whose text begins at `from`; the end of the text if the string
   * does not end.
   */
  private stringEnd(from: number): number {
    const { text } = this
    const end = text.length
    if (this.escape < from) {
      this.escape = text.indexOf('\\', from)
      if (this.escape < 0) this.escape = end
    }
    let at = text.indexOf('"', from)
    if (at < 0) return end
    if (at < this.escape) return at + 1
    for (at = this.escape; at < end; at++) {
      const c = text.charCodeAt(at)
      if (c === BACKSLASH) at++
      else if (c === QUOTE) return at + 1
    }
    return end
  }

  /** A member of a request ends before `to`. */
  private endMember(to: number): void {
    const { key, valueFrom } = this
    this.key = undefined
    this.valueFrom = -1
    if (key === undefined || valueFrom < 0) return
    const name = this.nameOf(key)
    if (name === 'id') this.id = this.trimmed(valueFrom, to)
    else if (name === 'method') this.method = this.trimmed(valueFrom, to)
  }

  /** Which of the two members that are looked for a key names. */
  private nameOf({ from, to }: Range): unknown {
    const { text } = this
    if (to - from === 4 && text.startsWith('"id"', from)) return 'id'
    if (to - from === 8 && text.startsWith('"method"', from)) return 'method'
    const isEscaped = to - from > 4 && to - from <= ESCAPED_KEY_MAX && text.slice(from, to).includes('\\')
    return isEscaped ? decoded(text.slice(from, to)) : undefined
  }

  private trimmed(from: number, to: number): Range {
    const { text } = this
    while (from < to && isSpace(text.charCodeAt(from))) from++
    while (to > from && isSpace(text.charCodeAt(to - 1))) to--
    return { from, to }
  }

  /** A request ends. */
  private endRequest(): void {
    const { text, id } = this
    this.ids.push(id && text.slice(id.from, id.to))
    this.methods.push(this.method)
    this.id = undefined
    this.method = undefined
    this.key = undefined
    this.valueFrom = -1
    if (this.memberDepth === 2 && this.ids.length > this.limits.requests) throw this.tooLarge()
  }

  private tooManyValues(most: number): RpcError {
    return limitExceeded(`request too large: more than ${most} array elements and object members (evm.max_request_values)`)
  }

  private tooLarge(): BatchTooLarge {
    // Most batches have few methods, many times.
    const names = new Map<string, string | undefined>()
    const methods = this.methods.map((range) => {
      if (range === undefined) return undefined
      const raw = this.text.slice(range.from, range.to)
      if (!names.has(raw)) names.set(raw, nameOf(raw))
      return names.get(raw)
    })
    // The text may not be JSON, so an id is only answered if it is valid by itself: a string, a
    // number, a boolean or null.
    const id = this.ids.find((raw) => raw !== undefined)
    const value = id && decoded(id)
    const isValid = value !== undefined && (value === null || typeof value !== 'object')
    return new BatchTooLarge(batchTooLarge(), isValid ? id : undefined, methods)
  }
}

/**
 * Whether a request that begins with this text is refused whatever follows: limits are exceeded
 * from left to right. The text may end anywhere.
 */
export function isRefused(head: string, limits: RequestLimits): boolean {
  try {
    new Scanner(head, limits).scan()
    return false
  } catch {
    return true
  }
}
