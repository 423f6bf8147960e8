// net_peerCount: Number of peers: those of CometBFT; a node that runs without it has none.
import { json, method } from '../../method.ts'
import type { Network } from '../../network.ts'

async function count(network: Network): Promise<Uint8Array> {
  // An engine that is being started again has no peers.
  const peers = await network.peers().catch(() => 0)
  return json(`0x${peers.toString(16)}`)
}

export const peerCount = method({
  name: 'net_peerCount',
  doc: 'Number of peers: those of CometBFT; a node that runs without it has none.',
  result: 'quantity',
  cost: 'read',
  params: [],
  handle: ({ network }) => (network === undefined ? json('0x0') : count(network)),
})
