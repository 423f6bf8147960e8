// eth_getBalance: Balance of an account after a block, in wei.
import { address, blockRef } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const getBalance = method({
  name: 'eth_getBalance',
  doc: 'Balance of an account after a block, in wei.',
  result: 'quantity',
  cost: 'read',
  params: [required('address', address), optional('block', blockRef)],
  handle: ({ core }, address, block) => core.request('getBalance', { address, block }),
})
