// eth_getTransactionByBlockHashAndIndex: The transaction at an index of a block, or null.
import { hash, uint64 } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getTransactionByBlockHashAndIndex = method({
  name: 'eth_getTransactionByBlockHashAndIndex',
  doc: 'The transaction at an index of a block, or null.',
  result: 'transaction, or `null`',
  cost: 'read',
  params: [required('hash', hash), required('index', uint64)],
  handle: ({ core }, hash, index) => core.request('getTransactionByBlockHashAndIndex', { hash, index }),
})
