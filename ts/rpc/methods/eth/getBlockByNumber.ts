// eth_getBlockByNumber: The block at a tag or height, or null.
import { blockNumber, boolean } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getBlockByNumber = method({
  name: 'eth_getBlockByNumber',
  doc: 'The block at a tag or height, or null.',
  result: 'block, or `null`',
  cost: 'read',
  params: [required('block', blockNumber), required('fullTransactions', boolean, false)],
  handle: ({ core }, block, full) => core.request('getBlockByNumber', { block, full }),
})
