// eth_gasPrice: Suggested gas price of a legacy transaction, in wei.
import { method } from '../../method.ts'

export const gasPrice = method({
  name: 'eth_gasPrice',
  doc: 'Suggested gas price of a legacy transaction, in wei.',
  result: 'quantity',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('gasPrice', undefined),
})
