// eth_getBlockTransactionCountByNumber: The number of transactions in a block, or null.
import { blockNumber } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getBlockTransactionCountByNumber = method({
  name: 'eth_getBlockTransactionCountByNumber',
  doc: 'The number of transactions in a block, or null.',
  result: 'quantity, or `null` for an unknown block',
  cost: 'read',
  params: [required('block', blockNumber)],
  handle: ({ core }, block) => core.request('getBlockTransactionCountByNumber', { block }),
})
