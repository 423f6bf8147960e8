// Which validator a sender belongs to. Apart from `redirect.ts`, since a node without redirects
// loads no hash function.
import { concat, fromHex } from 'ox/Bytes'
import { keccak256 } from 'ox/Hash'

/**
 * The owner of a sender: the candidate with the highest keccak256(sender || address), so that a
 * change of the set moves only the senders of
 * those that came or went. Undefined where there is none.
 */
export function ownerOf(sender: string, candidates: readonly string[]): string | undefined {
  const from = fromHex(sender as `0x${string}`)
  let best: { readonly address: string; readonly rank: string } | undefined
  for (const address of candidates) {
    const rank = keccak256(concat(from, fromHex(`0x${address}`)), { as: 'Hex' })
    if (best === undefined || rank > best.rank) best = { address, rank }
  }
  return best?.address
}
