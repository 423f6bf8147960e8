// Parameters of the methods for development chains: numbers in every form that anvil takes, and
// their own objects.
import type { Forking } from '../../core/port.ts'
import { transaction } from './call.ts'
import { BadValue, type Codec, kindOf, object, part } from './codec.ts'
import { data } from './hex.ts'

const NUMBER = /^(0[xX][0-9a-fA-F]+|\d+)$/

/**
 * A number in hex or decimal, as a string or a whole JSON number, of at most `bits` bits; as hex.
 */
const number =
  (bits: number): Codec<string> =>
  (value) => {
    const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
    if (typeof text !== 'string' || text.length > 2 + bits || !NUMBER.test(text))
      throw new BadValue(`invalid hex or decimal integer ${JSON.stringify(value)?.slice(0, 80)}`)
    const n = BigInt(text)
    if (n >= 1n << BigInt(bits)) throw new BadValue(`number > ${bits} bits`)
    return `0x${n.toString(16)}`
  }

/** At most 64 bits. */
export const number64 = number(64)

/** At most 256 bits. */
export const number256 = number(256)

/** Most seconds, or milliseconds, of a wait. */
const WAIT_MAX = 1 << 30

const wait: Codec<number> = (value) => {
  const n = BigInt(number64(value))
  if (n > WAIT_MAX) throw new BadValue(`number > ${WAIT_MAX}`)
  return Number(n)
}

/**
 * Seconds; or, as in Hardhat, a list of the shortest and the longest milliseconds, of which the
 * middle counts. Returned in milliseconds.
 */
export const blockInterval: Codec<number> = (value) => {
  if (!Array.isArray(value)) return wait(value) * 1000
  if (value.length !== 2) throw new BadValue(`a range has 2 values, and not ${value.length}`)
  const [shortest, longest] = value.map((entry, i) => part(`[${i}]`, wait, entry)) as [number, number]
  if (shortest > longest) throw new BadValue('a range begins at its lower end')
  return Math.round((shortest + longest) / 2)
}

/** What evm_mine takes: a time, or an object with a time and a number of blocks. */
export interface MineOptions {
  readonly timestamp: string | undefined
  readonly count: string | undefined
}

const given = <T>(codec: Codec<T>, value: unknown): T | undefined => (value === undefined || value === null ? undefined : codec(value))

/** See {@link MineOptions}. */
export const mineOptions: Codec<MineOptions> = (value) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { timestamp: number64(value), count: undefined }
  const { timestamp, blocks } = object(value)
  const optional = (name: string, field: unknown): string | undefined => given((entry) => part(name, number64, entry), field)
  return { timestamp: optional('timestamp', timestamp), count: optional('blocks', blocks) }
}

/**
 * A word of storage in at most 32 bytes of hex, with or without leading zeros, or a number; as 32
 * bytes.
 */
export const word256: Codec<string> = (value) => {
  if (typeof value === 'string' && !/^0[xX]/.test(value)) throw new BadValue('hex string without 0x prefix')
  return `0x${number256(value).slice(2).padStart(64, '0')}`
}

/** Most transactions of one reorganisation. */
const REORG_TRANSACTIONS_MAX = 10_000

/** A transaction, as bytes or as fields, and the block that it belongs into, from 0. */
export interface ReorgPair {
  readonly raw?: string
  readonly transaction?: Record<string, unknown>
  readonly block: string
}

const reorgPair: Codec<ReorgPair> = (value) => {
  if (!Array.isArray(value) || value.length !== 2) throw new BadValue('want a list of a transaction and the number of its block')
  const block = part('[1]', number64, value[1])
  if (typeof value[0] === 'string') return { raw: String(part('[0]', data, value[0])), block }
  return { transaction: part('[0]', transaction, value[0]), block }
}

/** What anvil_reorg puts into the new blocks. */
export const reorgPairs: Codec<ReorgPair[]> = (value) => {
  if (!Array.isArray(value)) throw new BadValue(`cannot use ${kindOf(value)} as an array`)
  if (value.length > REORG_TRANSACTIONS_MAX) throw new BadValue(`too many values: ${value.length}, want at most ${REORG_TRANSACTIONS_MAX}`)
  return value.map((pair, i) => part(`[${i}]`, reorgPair, pair))
}

/** What a reset takes: `{forking: {jsonRpcUrl, blockNumber}}`, or nothing. */
export const resetOptions: Codec<Forking | undefined> = (value) => {
  const { forking } = object(value)
  if (forking === undefined || forking === null) return undefined
  const { jsonRpcUrl, blockNumber } = part('forking', object, forking)
  return {
    url: given((entry) => part('forking.jsonRpcUrl', url, entry), jsonRpcUrl),
    block: given((entry) => part('forking.blockNumber', number64, entry), blockNumber),
  }
}

/** Longest URL, in UTF-16 units. */
const URL_MAX = 2048

/** The URL of a node, which speaks HTTP. */
export const url: Codec<string> = (value) => {
  if (typeof value !== 'string') throw new BadValue(`cannot use ${kindOf(value)} as a URL`)
  if (value.length > URL_MAX) throw new BadValue(`longer than ${URL_MAX} characters`)
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    throw new BadValue(`${JSON.stringify(value.slice(0, 80))} is no URL of HTTP`)
  return value
}
