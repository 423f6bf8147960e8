// Blocks: by tag, number or hash (EIP-1898).
import type { BlockNumber, BlockRef } from '../../core/port.ts'
import { serverError } from '../errors.ts'
import { BadValue, boolean, type Codec, folding, kindOf, object, part } from './codec.ts'
import { hash, quantity } from './hex.ts'

const TAGS = new Set(['latest', 'earliest', 'pending', 'safe', 'finalized'])

/** A height beyond this is refused, as in go-ethereum: heights are 63 bits there. */
const HEIGHT_MAX = (1n << 63n) - 1n

const height = quantity(64)

/** A tag or a height in hex. */
export const blockNumber: Codec<BlockNumber> = (value) => {
  if (typeof value === 'string' && TAGS.has(value)) return value
  if (typeof value === 'number') throw new BadValue('hex string without 0x prefix')
  const number = height(value)
  if (BigInt(number) > HEIGHT_MAX) throw new BadValue('block number larger than int64')
  return number
}

const ofBlock = folding(['blockNumber', 'blockHash', 'requireCanonical'])

/** A tag, a height, a hash, or an object that names one of them. */
export const blockRef: Codec<BlockRef> = (value) => {
  if (typeof value === 'string') return value.length === 66 ? { blockHash: hash(value) } : blockNumber(value)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BadValue(`cannot use ${kindOf(value)} as a block`)
  const { blockNumber: byNumber, blockHash: byHash, requireCanonical } = ofBlock(object(value))
  const canonical =
    requireCanonical === undefined || requireCanonical === null ? false : part('requireCanonical', boolean, requireCanonical)
  const absent = (v: unknown): boolean => v === undefined || v === null
  if (!absent(byNumber) && !absent(byHash)) throw new BadValue('cannot specify both BlockHash and BlockNumber, choose one or the other')
  if (!absent(byHash)) return { blockHash: part('blockHash', hash, byHash), requireCanonical: canonical }
  if (!absent(byNumber)) return part('blockNumber', blockNumber, byNumber)
  // go-ethereum reads it, and finds no block in it (eth/api_backend.go).
  throw serverError('invalid arguments; neither block nor hash specified')
}
