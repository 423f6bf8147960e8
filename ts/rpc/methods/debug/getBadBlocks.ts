// debug_getBadBlocks: The last blocks that this home refused.
import { method } from '../../method.ts'

export const getBadBlocks = method({
  name: 'debug_getBadBlocks',
  doc: 'The last blocks that this node refused, the highest first: hash, block and RLP of each.',
  result: '`{block, hash, rlp, …}`[]',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('getBadBlocks', undefined),
})
