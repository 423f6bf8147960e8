// net_peerCount: Number of peers: this node has none.
import { json, method } from '../../method.ts'

export const peerCount = method({
  name: 'net_peerCount',
  doc: 'Number of peers: this node has none.',
  cost: 'read',
  params: [],
  handle: () => json('0x0'),
})
