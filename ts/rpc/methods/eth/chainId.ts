// eth_chainId: The chain id (EIP-155).
import { method } from '../../method.ts'

export const chainId = method({
  name: 'eth_chainId',
  doc: 'The chain id (EIP-155).',
  result: 'quantity',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('chainId', undefined),
})
