// The blocks between the chain that is held and a head of the upstream, linked by their hashes.
import type { Header, Upstream } from './upstream.ts'
import { quantity } from './values.ts'

/** Headers that are requested at the same time by their numbers. */
const HEADERS_AT_ONCE = 16

/** What is held, as far as a branch is compared with it. */
export interface Held {
  readonly head: { readonly number: number }
  readonly base: { readonly number: number; readonly hash: string }
  /** Hash of the canonical block of this number; undefined where there is none. */
  readonly hashAt: (number: number) => Promise<string | undefined>
}

/** A branch that leaves the held chain further down than blocks may be removed. */
export class TooDeep extends Error {
  override name = 'TooDeep'
}

/** A branch that does not contain the block that the held chain begins after. */
export class OtherChain extends Error {
  override name = 'OtherChain'
}

/** Headers below one, each the parent of the one before, as far as numbers lead to its branch. */
async function below(upstream: Upstream, child: Header, least: number): Promise<Header[]> {
  const count = Math.min(HEADERS_AT_ONCE, child.number - least)
  const numbers = Array.from({ length: count }, (_, i) => child.number - 1 - i)
  const found = await Promise.all(numbers.map((number) => upstream.headerAt(quantity(number))))
  const linked: Header[] = []
  let wanted = child.parentHash
  for (const header of found) {
    if (header?.hash !== wanted) break
    linked.push(header)
    wanted = header.parentHash
  }
  return linked.length > 0 ? linked : [await upstream.headerByHash(child.parentHash)]
}

/**
 * The blocks from the first one that is not held up to a header, the oldest first; none where it is
 * held. Rejects with `TooDeep` beyond `reorgBlocks` below the head that is held, and with
 * `OtherChain`.
 */
export async function pathTo(upstream: Upstream, to: Header, held: Held, reorgBlocks: number): Promise<readonly Header[]> {
  const { head, base } = held
  if (to.number <= base.number)
    throw new OtherChain(`the newest block of ${upstream.shown} is ${to.number}, below the first one of this node`)
  if ((await held.hashAt(to.number)) === to.hash) return []
  const deepest = Math.max(base.number, head.number - reorgBlocks)
  const path: Header[] = [to]
  let oldest = to
  while ((await heldHash(held, oldest.number - 1)) !== oldest.parentHash) {
    if (oldest.number - 1 <= base.number) {
      throw new OtherChain(`${upstream.shown} has another block ${base.number} than ${base.hash}, after which this node begins`)
    }
    if (oldest.number - 1 <= deepest) {
      throw new TooDeep(
        `${upstream.shown} leaves our chain more than ${reorgBlocks} blocks below block ${head.number} (follow.reorg_blocks)`,
      )
    }
    for (const header of await below(upstream, oldest, deepest)) {
      path.unshift(header)
      oldest = header
      if ((await heldHash(held, header.number - 1)) === header.parentHash) break
    }
  }
  return path
}

const heldHash = async ({ base, hashAt }: Held, number: number): Promise<string | undefined> =>
  number === base.number ? base.hash : await hashAt(number)
