// eth_getTransactionCount: Nonce of an account after a block; with pending, what waits in the pool counts.
import { address, blockRef } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const getTransactionCount = method({
  name: 'eth_getTransactionCount',
  doc: 'Nonce of an account after a block; with pending, what waits in the pool counts.',
  cost: 'read',
  params: [required('address', address), optional('block', blockRef)],
  handle: ({ core }, address, block) => core.read('getTransactionCount', { address, block }),
})
