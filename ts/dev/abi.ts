// Reads ABI-encoded arguments of a few plain types. Bytes that do not hold what their types say
// give undefined: anyone may send any.

/** Types that are read. */
export type AbiType = 'uint256' | 'int256' | 'string' | 'bool' | 'address' | 'bytes' | `bytes${number}`

const WORD = 32

/** The arguments as text; undefined where the bytes do not hold them. */
export function decodeArguments(types: readonly AbiType[], data: Uint8Array): string[] | undefined {
  const decoded: string[] = []
  for (const [i, type] of types.entries()) {
    const value = decodeOne(type, data, i * WORD)
    if (value === undefined) return undefined
    decoded.push(value)
  }
  return decoded
}

function decodeOne(type: AbiType, data: Uint8Array, at: number): string | undefined {
  const word = wordAt(data, at)
  if (word === undefined) return undefined
  if (type === 'uint256') return word.toString()
  if (type === 'int256') return BigInt.asIntN(256, word).toString()
  if (type === 'bool') return word > 1n ? undefined : String(word === 1n)
  if (type === 'address') return `0x${word.toString(16).padStart(40, '0').slice(-40)}`
  if (type === 'string' || type === 'bytes') {
    const bytes = dynamicAt(data, word)
    if (bytes === undefined) return undefined
    return type === 'bytes' ? hexOf(bytes) : printable(Buffer.from(bytes).toString('utf8'))
  }
  return hexOf(data.subarray(at, at + Number(type.slice('bytes'.length))))
}

/** A word as a number. */
export function wordAt(data: Uint8Array, at: number): bigint | undefined {
  if (at + WORD > data.length) return undefined
  return BigInt(hexOf(data.subarray(at, at + WORD)))
}

/** The bytes of a string or of bytes, whose place the word at their argument says. */
function dynamicAt(data: Uint8Array, place: bigint): Uint8Array | undefined {
  if (place > BigInt(data.length)) return undefined
  const start = Number(place)
  const length = wordAt(data, start)
  if (length === undefined || length > BigInt(data.length - start - WORD)) return undefined
  return data.subarray(start + WORD, start + WORD + Number(length))
}

/**
 * Text without characters that would move a terminal's cursor or colour what follows; ends of lines
 * stay.
 */
export const printable = (text: string): string =>
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`)

/** Bytes as `0x` and digits. */
export const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex')}`

/** The bytes of `0x` and digits. */
export const bytesOf = (hex: string): Uint8Array => Buffer.from(hex.slice(2), 'hex')
