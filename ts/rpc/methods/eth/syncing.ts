// eth_syncing: False, or this node's progress while it reads blocks that its peers under CometBFT
// have had for long.
import { json, method } from '../../method.ts'
import type { Network } from '../../network.ts'

const hex = (n: number): string => `0x${n.toString(16)}`

async function syncState(network: Network): Promise<Uint8Array> {
  // An engine that is being started again reads nothing.
  const state = await network.sync().catch(() => undefined)
  if (state === undefined || !state.catchingUp) return json(false)
  return json({ startingBlock: hex(0), currentBlock: hex(state.height), highestBlock: hex(state.highest) })
}

export const syncing = method({
  name: 'eth_syncing',
  doc: 'False, or how far this node is while it reads blocks that its peers under CometBFT have had for long.',
  result: '`false`, or an object of progress',
  cost: 'read',
  params: [],
  handle: ({ core, network }) => (network === undefined ? core.request('syncing', undefined) : syncState(network)),
})
