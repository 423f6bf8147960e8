// The filter of eth_getLogs.

import { invalidParams, serverError } from '../errors.ts'
import { blockNumber } from './block.ts'
import { BadValue, type Codec, fields, kindOf, part } from './codec.ts'
import { address, hash } from './hex.ts'

/** Topic positions: the EVM has LOG4. */
const TOPICS_MAX = 4

/** Alternatives of one position, and emitters; go-ethereum's limits. */
const ALTERNATIVES_MAX = 1000

/** Emitters that are read at all; a body of 5 MiB cannot hold many more. */
const EMITTERS_READ_MAX = 200_000

const alternatives =
  (codec: Codec<string>): Codec<unknown> =>
  (value) => {
    if (!Array.isArray(value)) return codec(value)
    if (value.length > ALTERNATIVES_MAX) throw new BadValue('exceed max topics')
    return value.map((entry, i) => (entry === null ? null : part(`[${i}]`, codec, entry)))
  }

const topics: Codec<unknown> = (value) => {
  if (!Array.isArray(value)) throw new BadValue(`cannot use ${kindOf(value)} as an array`)
  if (value.length > TOPICS_MAX) throw new BadValue('exceed max topics')
  return value.map((entry, i) => (entry === null ? null : part(`[${i}]`, alternatives(hash), entry)))
}

const addresses: Codec<unknown> = (value) => {
  if (!Array.isArray(value)) return address(value)
  if (value.length > EMITTERS_READ_MAX) throw new BadValue(`too many values: ${value.length}, want at most ${ALTERNATIVES_MAX}`)
  return value.map((entry, i) => part(`[${i}]`, address, entry))
}
const shape = fields({ blockHash: hash, fromBlock: blockNumber, toBlock: blockNumber, address: addresses, topics })

/** Whether a block is given by its height. */
const isNumber = (block: unknown): block is string => typeof block === 'string' && block.startsWith('0x')

/**
 * A filter that can be followed: logs of future blocks, or of those in a range of numbers. As in
 * go-ethereum, a filter that can never match is refused, in the words of its method and not of the
 * parameter.
 */
export function followable(criteria: Record<string, unknown>): Record<string, unknown> {
  const { fromBlock = 'latest', toBlock = 'latest' } = criteria
  if (fromBlock === 'pending' || toBlock === 'pending') throw invalidParams('pending logs are not supported')
  const from = fromBlock === 'earliest' ? '0x0' : fromBlock
  const isOpen = toBlock === 'latest' && (from === 'latest' || isNumber(from))
  const isRange = isNumber(from) && isNumber(toBlock) && BigInt(from) <= BigInt(toBlock)
  if (!isOpen && !isRange) throw invalidParams('invalid block range params')
  return criteria
}

/** Emitters, topics, and either one block or a range. */
export const filter: Codec<Record<string, unknown>> = (value) => {
  const found = shape(value)
  if (found.blockHash !== undefined && (found.fromBlock !== undefined || found.toBlock !== undefined)) {
    throw new BadValue('cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other')
  }
  // go-ethereum counts emitters once all parameters are read (eth/filters/api.go: GetLogs).
  if (Array.isArray(found.address) && found.address.length > ALTERNATIVES_MAX)
    throw serverError('exceed max addresses or topics per search position')
  return found
}
