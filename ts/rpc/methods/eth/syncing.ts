// eth_syncing: Always false: this node does not download from peers.
import { method } from '../../method.ts'

export const syncing = method({
  name: 'eth_syncing',
  doc: 'Always false: this node does not download from peers.',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.read('syncing', undefined),
})
