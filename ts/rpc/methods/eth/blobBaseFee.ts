// eth_blobBaseFee: Base fee of a unit of blob gas in the next block, in wei.
import { method } from '../../method.ts'

export const blobBaseFee = method({
  name: 'eth_blobBaseFee',
  doc: 'Base fee of a unit of blob gas in the next block, in wei.',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('blobBaseFee', undefined),
})
