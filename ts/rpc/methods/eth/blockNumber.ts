// eth_blockNumber: The height of the head.
import { method } from '../../method.ts'

export const blockNumber = method({
  name: 'eth_blockNumber',
  doc: 'The height of the head.',
  result: 'quantity',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('blockNumber', undefined),
})
