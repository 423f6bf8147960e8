// eth_syncing: False, or the heights while this node catches up with its peers under CometBFT, or
// with the upstream that it follows (ts/follow/core.ts).
import { json, method } from '../../method.ts'
import type { Network } from '../../network.ts'

const hex = (n: number): string => `0x${n.toString(16)}`

async function syncState(network: Network): Promise<Uint8Array> {
  // The view of a CometBFT that is being started again has no heights.
  const state = await network.sync().catch(() => undefined)
  if (state === undefined || !state.catchingUp) return json(false)
  return json({ startingBlock: hex(0), currentBlock: hex(state.height), highestBlock: hex(state.highest) })
}

export const syncing = method({
  name: 'eth_syncing',
  doc: 'False, or the heights while this node catches up: under CometBFT as long as CometBFT reports `catching_up`; in `hearth follow` while the head is more than two blocks behind that of the upstreams. Any other node answers false, one that a consensus client drives included.',
  result: '`false`, or `{startingBlock, currentBlock, highestBlock}`',
  cost: 'read',
  params: [],
  handle: ({ core, network }) => (network === undefined ? core.request('syncing', undefined) : syncState(network)),
})
