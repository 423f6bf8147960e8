// One pass over the text of a request before it is parsed: applies the limits of nesting, values
// and batch size, and finds the raw ids. A large text is read while it comes.
import type { LongText, TextRange } from '../core/long-text.ts'
import { batchTooLarge, limitExceeded, parseError, RpcError } from './errors.ts'
import { LONG_TEXT_BYTES_MIN } from './long-params.ts'

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

/** What is read next. */
const BEFORE = 0
const BEHIND_BRACKET = 1
const WITHIN = 2
const BEHIND = 3

/**
 * Reads the structure of a text that may or may not be JSON: brackets, commas, colons and strings.
 * JSON.parse, which runs only on texts within the limits, decides whether it is JSON. JSON.parse by
 * itself would also turn the ids 1.0, 9007199254740993 and "\u0061" into something that the client
 * did not write. The text may come in pieces, each of which is read once. A piece is text or bytes
 * as latin1: all structure is ASCII.
 */
class Scanner {
  private readonly limits: RequestLimits
  /** The text between two positions, from the beginning of the first piece on. */
  private readonly raw: (from: number, to: number) => string
  private reading = BEFORE
  /** The piece that is read, and its position. */
  private text = ''
  private base = 0
  /** Position in the piece of the next backslash at or after the last string that was read. */
  private escape = -1
  /** Whether the last piece ended within a string, and there behind a backslash. */
  private isInString = false
  private isEscaped = false
  private depth = 0
  /** Depth at which the members of a request are. */
  private memberDepth = 1
  private values = 0
  private key: TextRange | undefined
  /** Where the key begins that the last piece ended within; -1 where it did not. */
  private keyFrom = -1
  /** Where the string begins that the last piece ended within. */
  private stringFrom = 0
  /** Long strings with their quotes. */
  readonly long: TextRange[] = []
  /** Where the value behind the last colon begins; -1 where there is none. */
  private valueFrom = -1
  private id: TextRange | undefined
  private method: TextRange | undefined
  private readonly ids: (TextRange | undefined)[] = []
  private readonly methods: (TextRange | undefined)[] = []

  constructor(limits: RequestLimits, raw: (from: number, to: number) => string) {
    this.limits = limits
    this.raw = raw
  }

  /** Reads the next piece. Throws `RpcError` where a limit is exceeded. */
  feed(piece: string): void {
    this.text = piece
    this.escape = -1
    let at = 0
    if (this.reading === BEFORE) at = this.begin()
    if (this.reading === BEHIND_BRACKET) at = this.behindBracket(at)
    if (this.reading === WITHIN) this.structure(this.isInString ? this.continued() : at)
    this.base += piece.length
  }

  /** The text has ended. Throws as `feed`. */
  end(): Scanned {
    if (this.reading !== BEHIND) this.endRequest()
    return { ids: this.ids.map((id) => id && this.valueOf(id)) }
  }

  /** The beginning of the message; gives the position that is read next. */
  private begin(): number {
    const at = behindSpace(this.text, 0)
    if (at === this.text.length) return at
    if (this.text.charCodeAt(at) !== OPEN_BRACKET) {
      this.reading = WITHIN
      return at
    }
    this.memberDepth = 2
    this.reading = BEHIND_BRACKET
    return at + 1
  }

  /** The beginning of a batch, which may be empty. */
  private behindBracket(from: number): number {
    const at = behindSpace(this.text, from)
    if (at === this.text.length) return at
    this.reading = BEHIND
    if (this.text.charCodeAt(at) === CLOSE_BRACKET) return at
    this.reading = WITHIN
    this.depth = 1
    this.count()
    return at
  }

  private count(): void {
    const { values = Number.POSITIVE_INFINITY } = this.limits
    if (++this.values > values) throw this.tooManyValues(values)
  }

  private structure(from: number): void {
    const { text, base, memberDepth } = this
    const end = text.length
    const most = this.limits.values ?? Number.POSITIVE_INFINITY
    let { depth } = this
    let at = from
    let runFrom = from
    while (at < end) {
      const c = text.charCodeAt(at)
      if (c !== COMMA && c !== QUOTE && c !== COLON && (c | 0x20) !== OPEN_BRACE && (c | 0x20) !== CLOSE_BRACE) {
        at = at - runFrom < RUN_MAX ? at + 1 : this.structureAt(at)
        continue
      }
      if (c === QUOTE) {
        // The first string of a member is its key.
        const isKey = depth === memberDepth && this.key === undefined
        const to = this.stringEnd(at + 1)
        if (to < 0) {
          this.stringFrom = base + at
          if (isKey) this.keyFrom = base + at
          break
        }
        if (to - at >= LONG_TEXT_BYTES_MIN) this.long.push({ from: base + at, to: base + to })
        if (isKey) this.key = { from: base + at, to: base + to }
        at = to
        runFrom = at
        continue
      }
      if (c === COMMA) {
        if (++this.values > most) throw this.tooManyValues(most)
        if (depth === memberDepth) this.endMember(base + at)
        else if (depth < memberDepth) this.endRequest()
      } else if (c === COLON) {
        if (depth === memberDepth) this.valueFrom = base + at + 1
      } else if (c === OPEN_BRACE || c === OPEN_BRACKET) {
        if (++this.values > most) throw this.tooManyValues(most)
        if (++depth > NESTING_MAX) throw parseError()
      } else if (c === CLOSE_BRACE || c === CLOSE_BRACKET) {
        if (depth === memberDepth) this.endMember(base + at)
        if (--depth <= 0) {
          this.endRequest()
          this.reading = BEHIND
          break
        }
      }
      at++
      runFrom = at
    }
    this.depth = depth
  }

  /** The rest of a string that began in a piece before; gives the position behind it. */
  private continued(): number {
    const to = this.stringEnd(this.isEscaped ? 1 : 0)
    if (to < 0) return this.text.length
    const [from, behind] = [this.stringFrom, this.base + to]
    if (behind - from >= LONG_TEXT_BYTES_MIN) this.long.push({ from, to: behind })
    if (this.keyFrom >= 0) this.key = { from: this.keyFrom, to: this.base + to }
    this.keyFrom = -1
    return to
  }

  /** The position of the next character of structure; the end of the piece where there is none. */
  private structureAt(from: number): number {
    STRUCTURE.lastIndex = from
    return STRUCTURE.test(this.text) ? STRUCTURE.lastIndex - 1 : this.text.length
  }

  /**
   * The position after the string whose text begins or continues at `from`; -1 if the string does
   * not end in this piece.
   */
  private stringEnd(from: number): number {
    const { text } = this
    const end = text.length
    this.isInString = false
    if (this.escape < from) {
      this.escape = text.indexOf('\\', from)
      if (this.escape < 0) this.escape = end
    }
    let at = text.indexOf('"', from)
    if (at < 0) at = end
    if (at < this.escape) return at + 1
    for (at = this.escape; at < end; at++) {
      const c = text.charCodeAt(at)
      if (c === BACKSLASH) at++
      else if (c === QUOTE) return at + 1
    }
    this.isInString = true
    this.isEscaped = at > end
    return -1
  }

  /** A member of a request ends before `to`. */
  private endMember(to: number): void {
    const { key, valueFrom } = this
    this.key = undefined
    this.valueFrom = -1
    if (key === undefined || valueFrom < 0) return
    const name = this.nameOf(key)
    if (name === 'id') this.id = { from: valueFrom, to }
    else if (name === 'method') this.method = { from: valueFrom, to }
  }

  /** Which of the two members that are looked for a key names. */
  private nameOf({ from, to }: TextRange): unknown {
    const { text, base } = this
    const length = to - from
    if (length < 4 || length > ESCAPED_KEY_MAX) return undefined
    const isHere = from >= base
    if (length === 4 && (isHere ? text.startsWith('"id"', from - base) : this.raw(from, to) === '"id"')) return 'id'
    if (length === 8 && (isHere ? text.startsWith('"method"', from - base) : this.raw(from, to) === '"method"')) return 'method'
    // The shortest escaped key is longer than `"id"`.
    if (length === 4) return undefined
    const key = isHere ? text.slice(from - base, to - base) : this.raw(from, to)
    return key.includes('\\') ? decoded(key) : undefined
  }

  /** The text of a value without the white space around it. */
  private valueOf({ from, to }: TextRange): string {
    const text = this.raw(from, to)
    const begin = behindSpace(text, 0)
    let end = text.length
    while (end > begin && isSpace(text.charCodeAt(end - 1))) end--
    return begin === 0 && end === text.length ? text : text.slice(begin, end)
  }

  /** A request ends. */
  private endRequest(): void {
    this.ids.push(this.id)
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
      const raw = this.valueOf(range)
      if (!names.has(raw)) names.set(raw, nameOf(raw))
      return names.get(raw)
    })
    // The text may not be JSON, so an id is only answered if it is valid by itself: a string, a
    // number, a boolean or null.
    const first = this.ids.find((range) => range !== undefined)
    const id = first && this.valueOf(first)
    const value = id && decoded(id)
    const isValid = value !== undefined && (value === null || typeof value !== 'object')
    return new BatchTooLarge(batchTooLarge(), isValid ? id : undefined, methods)
  }
}

/** Scans a text. Throws `RpcError` where a limit is exceeded, as soon as that is known. */
export function scan(text: string, limits: RequestLimits): Scanned {
  const scanner = new Scanner(limits, (from, to) => text.slice(from, to))
  scanner.feed(text)
  return scanner.end()
}

/** A text that was scanned before all of it was there. */
export interface ScannedText {
  readonly text: string
  readonly scanned: Scanned
  /** What stands in the text as marks; absent where nothing does. */
  readonly long?: readonly LongText[]
}

/** A message as it came: its text, or the error of one that is refused by its beginning. */
export type Received = string | ScannedText | RpcError

/** Scans the bytes of a text while they come. */
export class ByteScanner {
  private readonly scanner: Scanner
  private bytes: Buffer | undefined
  private at = 0
  private found: Scanned | undefined

  constructor(limits: RequestLimits) {
    this.scanner = new Scanner(limits, (from, to) => (this.bytes as Buffer).toString('utf8', from, to))
  }

  /**
   * Reads what is new in the bytes, which are all that has come so far. Gives the error of a
   * message that is refused whatever follows: limits are exceeded from left to right.
   */
  look(bytes: Buffer, isWhole: boolean): RpcError | undefined {
    this.bytes = bytes
    try {
      if (bytes.length > this.at) this.scanner.feed(bytes.toString('latin1', this.at))
      this.at = bytes.length
      if (isWhole) this.found = this.scanner.end()
      return undefined
    } catch (e) {
      return e as RpcError
    } finally {
      this.bytes = undefined
    }
  }

  /** The long strings, quotes included, of bytes that were all scanned; none of others. */
  get long(): readonly TextRange[] {
    return this.found === undefined ? [] : this.scanner.long
  }

  /**
   * The message of a text of which all bytes were scanned, or some or none. `long` is what was
   * taken out of it.
   */
  messageOf(text: string, long: readonly LongText[] = []): string | ScannedText {
    if (this.found === undefined) return text
    return long.length === 0 ? { text, scanned: this.found } : { text, scanned: this.found, long }
  }
}
