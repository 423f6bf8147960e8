// eth_getCode: Code of an account after a block.
import { address, blockRef } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const getCode = method({
  name: 'eth_getCode',
  doc: 'Code of an account after a block.',
  result: 'data',
  cost: 'read',
  params: [required('address', address), optional('block', blockRef)],
  handle: ({ core }, address, block) => core.request('getCode', { address, block }),
})
