// eth_baseFee: The base fee of the next block, in wei.
import { method } from '../../method.ts'

export const baseFee = method({
  name: 'eth_baseFee',
  doc: 'The base fee of the next block, in wei.',
  result: 'quantity',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('baseFee', undefined),
})
