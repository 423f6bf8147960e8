// Bytes that scripts hand over and get back.
import { interrupt } from './interrupt.ts'
import { Bytes, Fault, isArray, min, setAll, Text } from './primordials.ts'
import { bytesOfHex } from './text.ts'

export const ADDRESS_BYTES = 20
export const WORD_BYTES = 32

/**
 * Bytes of a script's value: an array of numbers, a Uint8Array, and hex text where `textToo`.
 * Interrupts the script for everything else.
 *
 * A Uint8Array is given back as it is, not copied.
 */
export function bytesFrom(value: unknown, textToo: boolean): Uint8Array {
  if (value === undefined || value === null) throw new Fault('Cannot convert undefined or null to object')
  if (typeof value === 'object') {
    if (isArray(value)) return elements(value)
    if ((value as Uint8Array).constructor === Bytes && value instanceof Bytes) return value as Uint8Array
    if (textToo && value instanceof Text) return bytesOfHex(Text(value))
  }
  if (textToo && typeof value === 'string') return bytesOfHex(value)
  return interrupt('invalid buffer type')
}

function elements(array: readonly unknown[]): Uint8Array {
  const { length } = array
  const bytes = new Bytes(length)
  // A typed array converts on assignment just as go-ethereum's engine does: to a number, cut,
  // modulo 256.
  for (let i = 0; i < length; i++) bytes[i] = (array[i] ?? 0) as number
  return bytes
}

/** Up to this length a loop copies faster than a call. */
const SHORT_BYTES = 64

/** A copy without other references. */
export function copyOf(bytes: Uint8Array, length = bytes.length): Uint8Array {
  const copy = new Bytes(length)
  if (length > SHORT_BYTES) setAll(copy, bytes)
  else for (let i = 0; i < length; i++) copy[i] = bytes[i] as number
  return copy
}

/** Bytes fitted into `size`: of more the last ones, of fewer with zeros before them. */
export function fitted(bytes: Uint8Array, size: number): Uint8Array {
  const length = bytes.length
  const out = new Bytes(size)
  const shared = min(length, size)
  for (let i = 0; i < shared; i++) out[size - 1 - i] = bytes[length - 1 - i] as number
  return out
}
