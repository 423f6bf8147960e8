// Values for scripts: quantities are bigint; hashes, addresses and bytes are `0x` text, or
// `Uint8Array` in the form `bytes`.

import { argumentError } from './errors.ts'

/** `0x` and hex digits. */
export type Hex = `0x${string}`

/** How hashes, addresses and bytes are given: as `0x` text, or as `Uint8Array`. */
export type Form = 'hex' | 'bytes'

/** A hash, an address or bytes in a form. */
export type Data<F extends Form = 'hex'> = F extends 'hex' ? Hex : Uint8Array

/** A hash, an address or bytes as they may be given to Hearth, whatever the form of answers. */
export type AnyData = Hex | Uint8Array

/** A whole number as it may be given to Hearth. */
export type AnyQuantity = bigint | number | Hex

/**
 * A block: its height, its hash (32 bytes), or a tag. `safe` and `finalized` are the head on chains
 * without finality.
 */
export type BlockPlace = AnyQuantity | 'latest' | 'earliest' | 'safe' | 'finalized' | 'pending'

const HEX = /^0x[0-9a-fA-F]*$/

/** Bytes of an address, and of a hash or a word. */
export const ADDRESS_BYTES = 20
export const WORD_BYTES = 32

/** `0x` text of bytes. */
export const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`

/** Whether something is `0x` text. */
export const isHex = (value: unknown): value is Hex => typeof value === 'string' && HEX.test(value)

/** Data as the core takes it; `bytes`: how many there must be. */
export function dataOf(value: AnyData, what: string, bytes?: number): Hex {
  const text = value instanceof Uint8Array ? hexOf(value) : value
  if (!isHex(text) || text.length % 2 !== 0) throw argumentError(`${what} takes 0x text or a Uint8Array, not ${shown(value)}`)
  if (bytes !== undefined && text.length !== 2 + 2 * bytes) {
    throw argumentError(`${what} takes ${bytes} bytes, not ${(text.length - 2) / 2}`)
  }
  return text
}

/** A whole number that is not negative, as the core takes it. */
export function quantityOf(value: AnyQuantity, what: string): Hex {
  return `0x${bigintOf(value, what).toString(16)}`
}

/** A whole number that is not negative. */
export function bigintOf(value: AnyQuantity, what: string): bigint {
  const isWhole = typeof value === 'bigint' || Number.isSafeInteger(value) || (isHex(value) && value.length > 2)
  const number = isWhole ? BigInt(value) : -1n
  if (number < 0n) throw argumentError(`${what} takes a whole number that is not negative, not ${shown(value)}`)
  return number
}

const shown = (value: unknown): string => (typeof value === 'bigint' ? `${value}n` : (JSON.stringify(value) ?? String(value)))

/**
 * Any value as JSON-RPC has it: bigints become quantities, byte arrays `0x` text, numbers
 * quantities; what is undefined is left out.
 */
export function wire(value: unknown): unknown {
  if (typeof value === 'bigint' || typeof value === 'number') return quantityOf(value, 'a quantity')
  if (value instanceof Uint8Array) return hexOf(value)
  if (Array.isArray(value)) return value.map(wire)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, entry]) => entry !== undefined)
  return Object.fromEntries(entries.map(([name, entry]) => [name, wire(entry)]))
}
