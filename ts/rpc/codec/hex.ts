// Hex: bytes of a known or any length, and quantities. The words of refusal are go-ethereum's.
import { LongText } from '../../core/long-text.ts'
import type { Data } from '../../core/port.ts'
import { invalidParams, type RpcError } from '../errors.ts'
import { BadValue, type Codec, kindOf } from './codec.ts'

function hexText(value: unknown): string {
  if (typeof value !== 'string') throw new BadValue(`cannot use ${kindOf(value)} as a hex string`)
  if (value === '') throw new BadValue('empty hex string')
  if (value.startsWith('0x')) return value
  // go-ethereum takes 0X as well; behind this line there is one prefix.
  if (value.startsWith('0X')) return `0x${value.slice(2)}`
  throw new BadValue('hex string without 0x prefix')
}

const DIGITS = /^0x[0-9a-fA-F]*$/

/** Hex bytes of any length; an empty text is none, as in go-ethereum (common/hexutil/json.go). */
export const data: Codec<Data> = (value) => {
  if (value instanceof LongText) {
    value.isAccepted = true
    return value
  }
  if (value === '') return '0x'
  const text = hexText(value)
  if (text.length % 2 === 1) throw new BadValue('hex string of odd length')
  if (!DIGITS.test(text)) throw new BadValue('invalid hex string')
  return text
}

/** Hex bytes of exactly `length` bytes. */
export const bytes =
  (length: number): Codec<string> =>
  (value) => {
    const text = hexText(value)
    if (text.length !== 2 + 2 * length) throw new BadValue(`hex string has length ${text.length - 2}, want ${2 * length}`)
    if (!DIGITS.test(text)) throw new BadValue('invalid hex string')
    return text
  }

/** 20 bytes. */
export const address = bytes(20)

/** 32 bytes. */
export const hash = bytes(32)

/** A number in hex without leading zeros, of at most `bits` bits. */
export const quantity =
  (bits: number): Codec<string> =>
  (value) => {
    const text = hexText(value)
    if (text.length === 2) throw new BadValue('hex string "0x"')
    if (!DIGITS.test(text)) throw new BadValue('invalid hex string')
    if (text.length > 3 && text[2] === '0') throw new BadValue('hex number with leading zero digits')
    if (text.length - 2 > bits / 4) throw new BadValue(`hex number > ${bits} bits`)
    return text
  }

/** The same, where an empty text is zero, as in go-ethereum (common/hexutil/json.go). */
const orEmpty =
  (codec: Codec<string>): Codec<string> =>
  (value) =>
    value === '' ? '0x0' : codec(value)

/** At most 64 bits. */
export const uint64 = orEmpty(quantity(64))

/** At most 256 bits. */
export const uint256 = orEmpty(quantity(256))

/**
 * Bytes of a storage key: up to 32, the prefix optional, an odd number of digits allowed; as a
 * whole word. go-ethereum reads keys within its methods, so that refusals are not those of a
 * parameter (internal/ethapi/api.go: decodeStorageKey).
 */
export const storageKey: Codec<string> = (value) => {
  if (typeof value !== 'string') throw new BadValue(`cannot use ${kindOf(value)} as a storage key`)
  const digits = /^0x/i.test(value) ? value.slice(2) : value
  const refused = (reason: string): RpcError => invalidParams(`${reason}: ${JSON.stringify(value)}`)
  if (digits.length > 64) throw refused('storage key too long (want at most 32 bytes)')
  if (!/^[0-9a-fA-F]*$/.test(digits)) throw refused('invalid hex in storage key')
  return `0x${digits.padStart(64, '0')}`
}

/** 64 bits in hex or decimal, as a string or a JSON number; as hex. */
export const hexOrDecimal: Codec<string> = (value) => {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string' || !/^(0[xX][0-9a-fA-F]+|\d+)$/.test(text))
    throw new BadValue(`invalid hex or decimal integer ${JSON.stringify(value)}`)
  const n = BigInt(text)
  if (n >= 1n << 64n) throw new BadValue('number > 64 bits')
  return `0x${n.toString(16)}`
}
