// eth_blockNumber: Height of the head.
import { method } from '../../method.ts'

export const blockNumber = method({
  name: 'eth_blockNumber',
  doc: 'Height of the head.',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.read('blockNumber', undefined),
})
