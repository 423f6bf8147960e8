// eth_getTransactionReceipt: The receipt of a transaction, or null.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getTransactionReceipt = method({
  name: 'eth_getTransactionReceipt',
  doc: 'The receipt of a transaction, or null.',
  result: 'receipt, or `null`',
  cost: 'read',
  params: [required('hash', hash)],
  handle: ({ core }, hash) => core.request('getTransactionReceipt', { hash }),
})
