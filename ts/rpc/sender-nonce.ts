// The transaction of a sender with a nonce, found by the sender's nonces after blocks.

import { CoreError, type CoreErrorKind } from '../core/error.ts'
import type { Core, Hex } from '../core/port.ts'
import { readAs, readJson } from '../core/results.ts'

/** A transaction as eth_getTransactionByHash has it, as far as the search looks. */
export interface FoundTransaction {
  readonly hash: Hex
  readonly from: Hex
  readonly nonce: Hex
}

/** What the core says where the state of a height is not there. */
const WITHOUT_HISTORY: ReadonlySet<CoreErrorKind> = new Set(['not_retained', 'evm_not_supported'])

/**
 * What history says or, where it does not reach, what is found without it; the refusal of history
 * where that fails too.
 */
export async function orWithoutHistory<T>(byHistory: () => Promise<T>, without: () => Promise<T>): Promise<T> {
  try {
    return await byHistory()
  } catch (e) {
    if (!(e instanceof CoreError && WITHOUT_HISTORY.has(e.kind))) throw e
    try {
      return await without()
    } catch (other) {
      throw other instanceof CoreError && other.kind === 'unsupported' ? e : other
    }
  }
}

const hex = (n: bigint): Hex => `0x${n.toString(16)}`

/**
 * The first height from which on `holds` is true of the chain; undefined if it is false at the
 * head. Reads a number of states that grows with the logarithm of the height.
 */
export async function firstHeight(core: Core, holds: (block: Hex) => Promise<boolean>): Promise<bigint | undefined> {
  let high = BigInt(await readJson(core, 'blockNumber', undefined))
  if (!(await holds(hex(high)))) return undefined
  let low = -1n
  while (high - low > 1n) {
    const middle = (low + high) / 2n
    if (await holds(hex(middle))) high = middle
    else low = middle
  }
  return high
}

/** The mined transaction of a sender with a nonce; undefined where there is none. */
export async function minedBySenderAndNonce(core: Core, sender: Hex, nonce: bigint): Promise<FoundTransaction | undefined> {
  const address = sender.toLowerCase()
  const used = async (block: Hex): Promise<boolean> => BigInt(await readJson(core, 'getTransactionCount', { address, block })) > nonce
  const height = await firstHeight(core, used)
  // What the genesis says was used was no transaction.
  if (height === undefined || height === 0n) return undefined
  const wanted = { block: hex(height), full: true }
  const { transactions } = await readAs<{ transactions: readonly FoundTransaction[] }>(core, 'getBlockByNumber', wanted)
  return transactions.find((tx) => tx.from.toLowerCase() === address && BigInt(tx.nonce) === nonce)
}
