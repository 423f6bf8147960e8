// Traced calls: the configuration of debug_traceCall, and the bundles of debug_traceCallMany as
// clients of reth, Erigon and Nethermind send them.
import type { BlockRef, CallBundle, Hex, JsonObject } from '../../core/port.ts'
import { blockRef } from './block.ts'
import { blockOverrides as blockFields, stateOverrides, transaction } from './call.ts'
import { arrayOf, BadValue, type Codec, folding, kindOf, mapOf, object, part } from './codec.ts'
import { hash, quantity, uint64 } from './hex.ts'
import { traceConfig } from './trace.ts'

/** Most bundles of one request, and most calls of one bundle. */
const ENTRIES_MAX = 10_000

/** What a call pretends besides the tracer's configuration. */
export interface CallConfig {
  readonly config: JsonObject
  readonly txIndex: Hex | undefined
  readonly stateOverrides: JsonObject | undefined
  readonly blockOverrides: JsonObject | undefined
}

const number64 = quantity(64)

const absent = (value: unknown): value is undefined | null => value === undefined || value === null

/** The first of these names that is there, checked. */
function pick<T>(from: Record<string, unknown>, names: readonly string[], codec: Codec<T>): T | undefined {
  const name = names.find((candidate) => !absent(from[candidate]))
  return name === undefined ? undefined : part(name, codec, from[name])
}

const ofCall = folding(['txIndex', 'stateOverrides', 'blockOverrides'])

/**
 * The third parameter of debug_traceCall: the tracer's configuration with overrides and an index.
 */
export const callConfig: Codec<CallConfig> = (value) => {
  const all = ofCall(object(value))
  const { txIndex: _index, stateOverrides: _state, blockOverrides: _block, ...config } = all
  return {
    config: traceConfig(config),
    txIndex: pick(all, ['txIndex'], uint64),
    stateOverrides: pick(all, ['stateOverrides'], stateOverrides),
    blockOverrides: pick(all, ['blockOverrides'], blockFields),
  }
}

/**
 * A position in a block: -1 is its end, as is an absent value. A JSON number, its digits as text,
 * or hex.
 */
export const transactionIndex: Codec<Hex | undefined> = (value) => {
  if (value === -1 || value === '-1') return undefined
  const digits = typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value))
  if (!digits) return number64(value)
  const n = Number(value)
  if (!Number.isSafeInteger(n) || n < 0) throw new BadValue(`invalid transaction index ${JSON.stringify(value)}`)
  return `0x${n.toString(16)}`
}

/** Other names of block fields in Erigon and reth. */
const FIELD_NAMES: readonly (readonly [string, readonly string[]])[] = [
  ['number', ['number', 'blockNumber']],
  ['difficulty', ['difficulty']],
  ['time', ['time', 'timestamp']],
  ['gasLimit', ['gasLimit']],
  ['feeRecipient', ['feeRecipient', 'coinbase']],
  ['prevRandao', ['prevRandao', 'random']],
  ['baseFeePerGas', ['baseFeePerGas', 'baseFee']],
  ['blobBaseFee', ['blobBaseFee']],
]

/** A block number as a key: decimal or hex. */
const blockKey: Codec<string> = (value) => {
  if (typeof value === 'string' && /^\d+$/.test(value)) return `0x${BigInt(value).toString(16)}`
  return number64(value)
}

/** Block fields under any of their names; a number may stand for a quantity. */
function bundleFields(value: unknown): { fields: JsonObject; hashes: [Hex, Hex][] } {
  const from = object(value)
  const renamed: Record<string, unknown> = {}
  for (const [field, names] of FIELD_NAMES) {
    const name = names.find((candidate) => !absent(from[candidate]))
    if (name === undefined) continue
    const entry = from[name]
    renamed[field] = typeof entry === 'number' && Number.isSafeInteger(entry) && entry >= 0 ? `0x${entry.toString(16)}` : entry
  }
  const hashes = pick(from, ['blockHash'], mapOf(blockKey, hash, ENTRIES_MAX)) ?? {}
  return { fields: blockFields(renamed), hashes: Object.entries(hashes) as [Hex, Hex][] }
}

const bundle: Codec<CallBundle> = (value) => {
  const from = object(value)
  const block = pick(from, ['blockOverride', 'blockOverrides'], bundleFields)
  return {
    transactions: pick(from, ['transactions'], arrayOf(transaction, ENTRIES_MAX)) ?? [],
    blockOverrides: block?.fields,
    blockHashes: block?.hashes ?? [],
    stateOverrides: pick(from, ['stateOverrides', 'stateOverride'], stateOverrides),
  }
}

/** The first parameter of debug_traceCallMany. */
export const bundles: Codec<CallBundle[]> = arrayOf(bundle, ENTRIES_MAX)

/** Where bundles begin. */
export interface CallContext {
  readonly block: BlockRef | undefined
  readonly transactionIndex: Hex | undefined
}

/**
 * The second parameter of debug_traceCallMany: `{blockNumber, transactionIndex}` (reth, Erigon),
 * where `blockNumber` may also be a hash, or a block itself (Nethermind).
 */
export const callContext: Codec<CallContext> = (value) => {
  if (typeof value === 'string') return { block: blockRef(value), transactionIndex: undefined }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BadValue(`cannot use ${kindOf(value)} as a block`)
  const from = object(value)
  const byHash = !absent(from.blockHash)
  return {
    block: byHash ? blockRef(value) : pick(from, ['blockNumber', 'block'], blockRef),
    transactionIndex: pick(from, ['transactionIndex'], transactionIndex),
  }
}
