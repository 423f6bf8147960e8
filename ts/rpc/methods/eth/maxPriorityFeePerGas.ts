// eth_maxPriorityFeePerGas: Suggested tip of an EIP-1559 transaction, in wei.
import { method } from '../../method.ts'

export const maxPriorityFeePerGas = method({
  name: 'eth_maxPriorityFeePerGas',
  doc: 'Suggested tip of an EIP-1559 transaction, in wei.',
  result: 'quantity',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('maxPriorityFeePerGas', undefined),
})
