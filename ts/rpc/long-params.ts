// Long hexadecimal arguments are not part of the text that `JSON.parse` reads: a mark stands there
// for each, and its bytes stay where they came until the core has them (ts/core/long-text.ts).
import { LongText, longTextMark, type TextRange } from '../core/long-text.ts'

/** Shorter strings are parsed with the text around them, in bytes. */
export const LONG_TEXT_BYTES_MIN = 64 * 1024

const QUOTE_BYTES = 1
const COLON = 0x3a
const SPACES: ReadonlySet<number | undefined> = new Set([0x20, 0x0a, 0x0d, 0x09])

/** 1 for the bytes of hexadecimal digits. */
const DIGIT = new Uint8Array(256)
for (const digit of Buffer.from('0123456789abcdefABCDEF')) DIGIT[digit] = 1

/**
 * Whether a string in quotes is what the codec `data` takes as it is. Whatever else is long is
 * refused with text that may contain it, or is no argument of the core.
 */
function isHex(bytes: Buffer, { from, to }: TextRange): boolean {
  if ((to - from) % 2 === 1 || bytes.toString('latin1', from, from + 3) !== '"0x') return false
  for (let at = from + 3; at < to - QUOTE_BYTES; at++) if (DIGIT[bytes[at] as number] === 0) return false
  return true
}

/** Whether a string that ends before `to` is the name of a member. */
function isKey(bytes: Buffer, to: number): boolean {
  let at = to
  while (SPACES.has(bytes[at])) at++
  return bytes[at] === COLON
}

/** The bytes of a message without its long texts. */
export interface Shortened {
  /** With marks in their places. */
  readonly bytes: Buffer
  readonly long: readonly LongText[]
}

/**
 * Takes hexadecimal arguments out of a message; the arguments keep the message's bytes, which the
 * caller must not use afterwards. `strings` are the long strings of the message, quotes included.
 * Undefined where none of `strings` is a hexadecimal argument.
 */
export function shortened(bytes: Buffer, strings: readonly TextRange[]): Shortened | undefined {
  const found = strings.filter((range) => !isKey(bytes, range.to) && isHex(bytes, range))
  if (found.length === 0) return undefined
  const parts: Buffer[] = []
  let at = 0
  for (const [i, { from, to }] of found.entries()) {
    parts.push(bytes.subarray(at, from + QUOTE_BYTES), Buffer.from(longTextMark() + i))
    at = to - QUOTE_BYTES
  }
  parts.push(bytes.subarray(at))
  const texts = found.map(({ from, to }) => ({ from: from + QUOTE_BYTES, to: to - QUOTE_BYTES }))
  return { bytes: Buffer.concat(parts), long: LongText.within(bytes, texts) }
}

/** The long text whose mark a string is. */
function textOf(text: string, long: readonly LongText[]): LongText | undefined {
  const mark = longTextMark()
  return text.startsWith(mark) ? long[Number(text.slice(mark.length))] : undefined
}

/** Changes each value within a value that is no array or object; gives the changed value. */
function changed(value: unknown, change: (leaf: unknown) => unknown): unknown {
  if (typeof value !== 'object' || value === null || value instanceof LongText) return change(value)
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = changed(value[i], change)
    return value
  }
  const members = value as Record<string, unknown>
  for (const name of Object.keys(members)) members[name] = changed(members[name], change)
  return value
}

/** Parameters with long texts. */
export class LongParams {
  private readonly values: unknown
  private readonly long: ReadonlySet<LongText>

  constructor(values: unknown, long: ReadonlySet<LongText>) {
    this.values = values
    this.long = long
  }

  /**
   * What `decode` makes of the parameters. Unless a codec accepts each long text, they are decoded
   * as if they had been parsed.
   */
  decoded<T>(decode: (values: unknown) => T): T {
    try {
      const decoded = decode(this.values)
      if ([...this.long].every(({ isAccepted }) => isAccepted)) return decoded
    } catch {
      // Decoding the strings throws as well, with the text that the client is to read.
    }
    return decode(changed(this.values, (leaf) => (leaf instanceof LongText ? leaf.take() : leaf)))
  }
}

/** Puts the long texts of a parsed message in the places of their marks. */
export function restoreLong(requests: readonly unknown[], long: readonly LongText[]): void {
  const left = new Set(long)
  for (const request of requests) {
    if (typeof request !== 'object' || request === null || Array.isArray(request)) continue
    const members = request as { method?: unknown; params?: unknown }
    if (typeof members.method === 'string') members.method = (textOf(members.method, long) ?? members.method).toString()
    const found = new Set<LongText>()
    const values = changed(members.params, (leaf) => {
      const text = typeof leaf === 'string' ? textOf(leaf, long) : undefined
      if (text === undefined) return leaf
      found.add(text)
      left.delete(text)
      return text
    })
    if (found.size > 0) members.params = new LongParams(values, found)
  }
  for (const text of left) text.drop()
}
