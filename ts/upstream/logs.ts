// Logs of a chain that begins in the middle of another one: those of blocks below its first one are
// the upstream's, those of its own blocks the core's.
import type { JsonObject } from '../core/port.ts'

/** Where logs are. */
interface Sides {
  /** Number of the block that the fork begins after; it is the origin's. */
  readonly first: bigint
  readonly head: () => Promise<bigint>
  readonly here: (filter: JsonObject) => Promise<Uint8Array>
  readonly there: (filter: JsonObject) => Promise<Uint8Array>
  readonly isMissing: (e: unknown) => boolean
}

const hex = (number: bigint): string => `0x${number.toString(16)}`

/**
 * The logs of a filter; where its range begins below the fork's own blocks and ends in them, those
 * of both sides in order.
 */
export async function originLogs(filter: JsonObject, { first, head, here, there, isMissing }: Sides): Promise<Uint8Array> {
  const { blockHash, fromBlock, toBlock } = filter
  if (blockHash !== undefined) {
    try {
      return await here(filter)
    } catch (e) {
      if (!isMissing(e)) throw e
      return await there(filter)
    }
  }
  const numberOf = async (block: unknown): Promise<bigint> => {
    if (typeof block === 'string' && block.startsWith('0x')) return BigInt(block)
    return block === 'earliest' ? 0n : await head()
  }
  const [from, to] = [await numberOf(fromBlock), await numberOf(toBlock)]
  if (from > first) return await here(filter)
  if (to <= first) return await there({ ...filter, fromBlock: hex(from), toBlock: hex(to) })
  const [below, own] = await Promise.all([
    there({ ...filter, fromBlock: hex(from), toBlock: hex(first) }),
    here({ ...filter, fromBlock: hex(first + 1n) }),
  ])
  return joined(below, own)
}

/** Two JSON arrays as one. */
function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const isEmpty = (list: Uint8Array): boolean => list.length === 2
  if (isEmpty(a)) return b
  if (isEmpty(b)) return a
  return Buffer.concat([a.subarray(0, -1), Buffer.from(','), b.subarray(1)])
}
