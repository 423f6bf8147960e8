// Text and bytes: UTF-8, hexadecimal digits.
import { Bytes, codeAt, cut, fromCode } from './primordials.ts'

/** Text of UTF-8 bytes; the core sends nothing else. */
export function textOf(bytes: Uint8Array, from: number, to: number): string {
  let text = ''
  for (let i = from; i < to; ) {
    const lead = bytes[i++] as number
    if (lead < 0x80) {
      text += fromCode(lead)
      continue
    }
    const more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1
    let code = lead & (0x3f >> more)
    for (let k = 0; k < more && i < to; k++) code = (code << 6) | ((bytes[i++] as number) & 0x3f)
    text += code < 0x10000 ? fromCode(code) : fromCode(0xd800 + ((code - 0x10000) >> 10), 0xdc00 + ((code - 0x10000) & 0x3ff))
  }
  return text
}

function hexTable(): readonly string[] {
  const digits = '0123456789abcdef'
  const table: string[] = []
  for (let i = 0; i < 256; i++) table[i] = (digits[i >> 4] as string) + (digits[i & 15] as string)
  return table
}

let pairs: readonly string[] | undefined

/** Hex digits of bytes, without prefix. */
export function hexOf(bytes: Uint8Array, length: number): string {
  pairs ??= hexTable()
  let text = ''
  for (let i = 0; i < length; i++) text += pairs[bytes[i] as number]
  return text
}

const digit = (code: number): number =>
  code >= 48 && code <= 57 ? code - 48 : code >= 97 && code <= 102 ? code - 87 : code >= 65 && code <= 70 ? code - 55 : -1

/**
 * Bytes of hex text with or without prefix; an odd digit counts as if a zero stood before it; what
 * follows a character that is no digit is dropped.
 */
export function bytesOfHex(text: string): Uint8Array {
  const prefixed = text.length >= 2 && codeAt(text, 0) === 48 && (codeAt(text, 1) | 32) === 120
  let digits = prefixed ? cut(text, 2) : text
  if (digits.length % 2 === 1) digits = `0${digits}`
  let good = 0
  while (good < digits.length && digit(codeAt(digits, good)) >= 0) good++
  const length = good >> 1
  const bytes = new Bytes(length)
  for (let i = 0; i < length; i++) bytes[i] = (digit(codeAt(digits, 2 * i)) << 4) | digit(codeAt(digits, 2 * i + 1))
  return bytes
}
