// eth_getTransactionByHash: The transaction with a hash, on the chain or in the pool, or null.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getTransactionByHash = method({
  name: 'eth_getTransactionByHash',
  doc: 'The transaction with a hash, on the chain or in the pool, or null.',
  result: 'transaction, or `null`',
  cost: 'read',
  params: [required('hash', hash)],
  handle: ({ core }, hash) => core.request('getTransactionByHash', { hash }),
})
