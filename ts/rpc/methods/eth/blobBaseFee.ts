// eth_blobBaseFee: The base fee per unit of blob gas of the next block, in wei.
import { method } from '../../method.ts'

export const blobBaseFee = method({
  name: 'eth_blobBaseFee',
  doc: 'The base fee per unit of blob gas of the next block, in wei.',
  result: 'quantity',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('blobBaseFee', undefined),
})
