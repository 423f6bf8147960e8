// Arguments of the trace_* and ots_* methods: types of a replay, positions in a tree of calls,
// filters, pages.
import type { BlockNumber, BlockRef } from '../../core/port.ts'
import { blockNumber, blockRef } from './block.ts'
import { transaction } from './call.ts'
import { arrayOf, BadValue, type Codec, fields, kindOf, part } from './codec.ts'
import { address, quantity } from './hex.ts'

/** Addresses of one list of a filter. */
const ADDRESSES_MAX = 1000

/** Numbers of a trace address: calls nest at most so deep. */
const PLACE_MAX = 1024

const TYPES = ['trace', 'stateDiff', 'vmTrace']

/** What of a replay is wanted. */
export const traceTypes: Codec<string[]> = (value) => {
  if (!Array.isArray(value)) throw new BadValue(`Invalid trace type params: cannot use ${kindOf(value)} as a list of ${TYPES.join(', ')}`)
  for (const type of value) {
    if (!TYPES.includes(type as string))
      throw new BadValue(`Invalid trace type params: ${JSON.stringify(type)?.slice(0, 40)} is none of ${TYPES.join(', ')}`)
  }
  return [...new Set(value as string[])]
}

const hexPlace = quantity(32)

/**
 * A place in the tree of calls: the number of each call within the one around it, from the
 * transaction's own on.
 */
export const traceAddress: Codec<number[]> = arrayOf((value) => {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff) return value
  return Number(BigInt(hexPlace(value)))
}, PLACE_MAX)

const count64 = quantity(64)

/** A number of traces: a JSON number or a quantity. */
const count: Codec<string> = (value) => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return `0x${value.toString(16)}`
  return count64(value)
}

const mode: Codec<boolean> = (value) => {
  if (value !== 'union' && value !== 'intersection') throw new BadValue('want "intersection" or "union"')
  return value === 'union'
}

const shape = fields({
  fromBlock: blockNumber,
  toBlock: blockNumber,
  fromAddress: arrayOf(address, ADDRESSES_MAX),
  toAddress: arrayOf(address, ADDRESSES_MAX),
  after: count,
  count,
  mode,
})

/** The filter of trace_filter; a range without an end is one up to the head. */
export const traceFilter: Codec<Record<string, unknown>> = (value) => {
  const { mode: union, ...found } = shape(value)
  return { fromBlock: 'earliest', toBlock: 'latest', ...found, union: union ?? false }
}

/** Calls of one trace_callMany. */
const CALLS_MAX = 10_000

/** Calls, each in a pair with the types that are wanted of it. */
export const typedCalls: Codec<{ transaction: Record<string, unknown>; types: string[] }[]> = arrayOf((value) => {
  if (!Array.isArray(value) || value.length !== 2) throw new BadValue('want a call and a list of trace types')
  return { transaction: part('[0]', transaction, value[0]), types: part('[1]', traceTypes, value[1]) }
}, CALLS_MAX)

const isHeight = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

/** A block as Otterscan names it: a height as a number, or what every method takes. */
export const heightOrTag: Codec<BlockNumber> = (value) => (isHeight(value) ? `0x${value.toString(16)}` : blockNumber(value))

/** As `heightOrTag`, or its hash (EIP-1898). */
export const heightOrHash: Codec<BlockRef> = (value) => (isHeight(value) ? `0x${value.toString(16)}` : blockRef(value))

/** A height as a number or a quantity, no tag. */
export const heightOrZero: Codec<string> = count

/** Transactions of a page at most. */
const PAGE_SIZE_MAX = 1000

const whole =
  (least: number, most: number): Codec<number> =>
  (value) => {
    if (typeof value !== 'number' || !Number.isInteger(value) || value < least || value > most)
      throw new BadValue(`want a whole number from ${least} to ${most}`)
    return value
  }

/** The number of a page, from 0 on. */
export const pageNumber: Codec<number> = whole(0, 1_000_000)

/** Entries of a page. */
export const pageSize: Codec<number> = whole(1, PAGE_SIZE_MAX)
