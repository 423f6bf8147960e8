// eth_getBlockTransactionCountByHash: The number of transactions in a block, or null.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getBlockTransactionCountByHash = method({
  name: 'eth_getBlockTransactionCountByHash',
  doc: 'The number of transactions in a block, or null.',
  result: 'quantity, or `null` for an unknown block',
  cost: 'read',
  params: [required('hash', hash)],
  handle: ({ core }, hash) => core.request('getBlockTransactionCountByHash', { hash }),
})
