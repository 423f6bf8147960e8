// Bytes as text with a prefix and a checksum (BIP-173), as the Cosmos SDK shows addresses.

const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const GENERATORS = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]

function polymod(words: readonly number[]): number {
  let sum = 1
  for (const word of words) {
    const top = sum >>> 25
    sum = ((sum & 0x1ffffff) << 5) ^ word
    for (const [i, generator] of GENERATORS.entries()) if ((top >>> i) & 1) sum ^= generator
  }
  return sum >>> 0
}

/** Bytes as words of five bits, filled up with zeros. */
function words(bytes: Uint8Array): number[] {
  const out: number[] = []
  let held = 0
  let count = 0
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff
    for (count += 8; count >= 5; count -= 5) out.push((held >>> (count - 5)) & 31)
  }
  if (count > 0) out.push((held << (5 - count)) & 31)
  return out
}

/** Bytes as bech32. */
export function bech32(prefix: string, bytes: Uint8Array): string {
  const codes = [...prefix].map((c) => c.charCodeAt(0))
  const data = words(bytes)
  const sum = polymod([...codes.map((c) => c >> 5), 0, ...codes.map((c) => c & 31), ...data, 0, 0, 0, 0, 0, 0]) ^ 1
  const check = [25, 20, 15, 10, 5, 0].map((shift) => (sum >>> shift) & 31)
  return `${prefix}1${[...data, ...check].map((word) => ALPHABET[word]).join('')}`
}

/** Prefix of accounts of the Cosmos SDK on this chain. */
export const ACCOUNT_PREFIX = 'hearth'

/** Longest text that is read, in characters (BIP-173). */
const CHARACTERS_MAX = 90

/** Characters of the checksum. */
const CHECK = 6

/** Prefix and bytes of a text; undefined if it is no bech32. */
export function readBech32(text: string): { readonly prefix: string; readonly bytes: Uint8Array } | undefined {
  const lower = text.toLowerCase()
  if (text.length > CHARACTERS_MAX || (text !== lower && text !== text.toUpperCase())) return undefined
  const [, prefix, data] = /^([\x21-\x7e]+)1([02-9ac-hj-np-z]{6,})$/.exec(lower) ?? []
  if (prefix === undefined || data === undefined) return undefined
  const codes = [...prefix].map((c) => c.charCodeAt(0))
  const all = [...data].map((c) => ALPHABET.indexOf(c))
  if (polymod([...codes.map((c) => c >> 5), 0, ...codes.map((c) => c & 31), ...all]) !== 1) return undefined
  const bytes: number[] = []
  let held = 0
  let count = 0
  for (const word of all.slice(0, -CHECK)) {
    held = ((held << 5) | word) & 0xfff
    count += 5
    if (count >= 8) {
      count -= 8
      bytes.push((held >>> count) & 0xff)
    }
  }
  // What fills up the last byte is less than a word, and zero.
  if (count >= 5 || (held & ((1 << count) - 1)) !== 0) return undefined
  return { prefix, bytes: Uint8Array.from(bytes) }
}
