// Ranges of the canonical chain: blocks, receipts and logs.

import type { Core, JsonObject, ReadRange } from '../../core/port.ts'
import { readBytes } from '../../core/results.ts'
import type { AbortOptions } from '../abort-options.ts'
import { argumentError, NotFoundError, withTypedErrors } from '../errors.ts'
import { Packed } from '../packed.ts'
import { ADDRESS_BYTES, type AnyData, type BlockPlace, dataOf, type Form, hexOf, isHex, quantityOf, WORD_BYTES } from '../values.ts'
import { type Block, readBlock } from './blocks.ts'
import { type Log, type Receipt, readBlockLogs, readBlockReceipts } from './logs.ts'
import { type Batch, type Rows, readAhead } from './rows.ts'

/**
 * Blocks of the canonical chain, both ends included; `timeout` is for each batch, not for all of
 * them.
 */
export interface ChainRange extends AbortOptions {
  /** Default: the first block that there is. */
  readonly from?: BlockPlace | undefined
  /** Default: the head when the iteration begins. */
  readonly to?: BlockPlace | undefined
  /** Whether to continue with new blocks as they come, forever; `to` is of no meaning then. */
  readonly follow?: boolean | undefined
}

/** A range, and how hashes, addresses and bytes are given. */
export interface RangeOptions<F extends Form = 'hex'> extends ChainRange {
  readonly form?: F | undefined
}

/** Which logs. */
export interface LogOptions<F extends Form = 'hex'> extends RangeOptions<F> {
  /** Emitters; any where absent. */
  readonly address?: AnyData | readonly AnyData[] | undefined
  /** By position a topic, alternatives, or null for any. */
  readonly topics?: readonly (AnyData | readonly AnyData[] | null)[] | undefined
}

/** A block that is there. */
export interface BlockId {
  readonly number: bigint
  readonly hash: string
}

/** The next batch: its first height, and the hash of the block below it that was read before. */
interface Place {
  readonly from: bigint
  readonly after: string | undefined
  readonly to: bigint
}

const TAGS: ReadonlySet<string> = new Set(['latest', 'earliest', 'safe', 'finalized', 'pending'])
const HASH_TEXT = 2 + 2 * WORD_BYTES
/** Longer text is no height, which has 64 bits. */
const HEIGHT_TEXT_MAX = 2 + 16

/** Bytes of the height at which the next batch begins. */
const NEXT_BYTES = 8

/** A place as the core's operations take it. */
export function blockRef(place: BlockPlace): string | { blockHash: string } {
  if (typeof place !== 'string') return quantityOf(place, 'a block')
  if (TAGS.has(place)) return place
  if (!isHex(place)) throw argumentError(`a block takes a height, a hash or one of ${[...TAGS].join(', ')}, not ${JSON.stringify(place)}`)
  if (place.length > HEIGHT_TEXT_MAX && place.length !== HASH_TEXT) {
    throw argumentError(`the hash of a block takes ${WORD_BYTES} bytes, not ${(place.length - 2) / 2}`)
  }
  return place.length === HASH_TEXT ? { blockHash: dataOf(place as AnyData, 'a block') } : quantityOf(place as `0x${string}`, 'a block')
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()

/** Number and hash of a canonical block by number or tag, or of any known block by hash. */
export async function blockId(core: Core, place: BlockPlace): Promise<BlockId> {
  const ref = blockRef(place)
  const asked =
    typeof ref === 'string' ? readBytes(core, 'getBlockId', { block: ref }) : readBytes(core, 'getHeaderByHash', { hash: ref.blockHash })
  const found = JSON.parse(text(await withTypedErrors(asked))) as { number: string; hash: string } | null
  if (found === null) throw new NotFoundError('block_not_found', `block ${String(place)} not found`)
  return { number: BigInt(found.number), hash: found.hash }
}

async function heightOf(core: Core, place: BlockPlace): Promise<bigint> {
  const ref = blockRef(place)
  return typeof ref === 'string' && ref.startsWith('0x') ? BigInt(ref) : (await blockId(core, place)).number
}

/**
 * The head's height, which may be below the one that is waited for once the chain has changed after
 * all.
 */
async function headAt(core: Core, wanted: bigint): Promise<bigint> {
  // The position of the events is read before the head, so that the wait also sees a block that
  // arrives between the two.
  const { next } = JSON.parse(text(await withTypedErrors(core.events(Number.MAX_SAFE_INTEGER, false)))) as { next: number }
  const head = await heightOf(core, 'latest')
  if (head < wanted) await withTypedErrors(core.events(next, true))
  return head
}

/**
 * The bytes of a batch as items, the height at which the next one begins, and the hash of the block
 * below that.
 */
async function unpacked<T, F extends Form>(
  bytes: Promise<Uint8Array>,
  form: F,
  read: (packed: Packed<F>, into: T[]) => void,
): Promise<{ readonly items: T[]; readonly next: bigint; readonly last: string }> {
  const raw = await withTypedErrors(bytes)
  const packed = new Packed(raw, form)
  const next = packed.u64()
  packed.hash()
  const groups = packed.u32()
  const items: T[] = []
  for (let i = 0; i < groups; i++) read(packed, items)
  // The hash goes back to the core as text, in whatever form the items are.
  return { items, next, last: hexOf(raw.subarray(NEXT_BYTES, NEXT_BYTES + WORD_BYTES)) }
}

/** Reads a range in batches; `ask` gives the bytes of one. */
function overRange<T, F extends Form>(
  core: Core,
  { from, to, follow = false, form, ...abort }: RangeOptions<F>,
  ask: (range: ReadRange) => Promise<Uint8Array>,
  read: (packed: Packed<F>, into: T[]) => void,
): Rows<T> {
  const first = async (): Promise<Place | undefined> => {
    const begin = await heightOf(core, from ?? 'earliest')
    const end = await heightOf(core, follow ? 'latest' : (to ?? 'latest'))
    return follow || begin <= end ? { from: begin, after: undefined, to: end } : undefined
  }
  const fetch = async (place: Place): Promise<Batch<T, Place>> => {
    if (place.from > place.to) return { items: [], next: { ...place, to: await headAt(core, place.from) } }
    const range = { from: Number(place.from), to: Number(place.to), ...(place.after === undefined ? {} : { after: place.after }) }
    const { items, next, last } = await unpacked(ask(range), (form ?? 'hex') as F, read)
    // A range may reach beyond the head: nothing more comes of it then.
    const isOver = !follow && (next > place.to || next === place.from)
    return { items, next: isOver ? undefined : { from: next, after: next === place.from ? place.after : last, to: place.to } }
  }
  return readAhead(first, fetch, abort)
}

/** Blocks of a range. */
export function blocks<F extends Form, Full extends boolean>(
  core: Core,
  options: RangeOptions<F> & { readonly full?: Full | undefined },
): Rows<Block<F, Full>> {
  const full = options.full ?? false
  return overRange(
    core,
    options,
    (range) => readBytes(core, 'read', { what: 'blocks', of: { range, full } }),
    (packed, into: Block<F, Full>[]) => into.push(readBlock(packed)),
  )
}

/** Receipts of a range. */
export const receipts = <F extends Form>(core: Core, options: RangeOptions<F>): Rows<Receipt<F>> =>
  overRange(core, options, (range) => readBytes(core, 'read', { what: 'receipts', of: { range } }), readBlockReceipts<F>)

const topicsOf = (topics: NonNullable<LogOptions['topics']>): unknown[] =>
  topics.map((position) => {
    if (position === null) return null
    const one = (topic: AnyData): string => dataOf(topic, 'a topic', WORD_BYTES)
    return isMany(position) ? position.map(one) : one(position)
  })

const isMany = (value: AnyData | readonly AnyData[]): value is readonly AnyData[] => Array.isArray(value)

/** Logs of a range. */
export function logs<F extends Form>(core: Core, options: LogOptions<F>): Rows<Log<F>> {
  const { address, topics, ...range } = options
  const emitters = address === undefined ? [] : isMany(address) ? address : [address]
  const filter: JsonObject = {
    address: emitters.map((emitter) => dataOf(emitter, 'address', ADDRESS_BYTES)),
    topics: topicsOf(topics ?? []),
  }
  return overRange(core, range, (part) => readBytes(core, 'read', { what: 'logs', of: { range: part, filter } }), readBlockLogs<F>)
}
