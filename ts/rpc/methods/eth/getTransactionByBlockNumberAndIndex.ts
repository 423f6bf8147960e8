// eth_getTransactionByBlockNumberAndIndex: The transaction at an index of a block, or null.
import { blockNumber, uint64 } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getTransactionByBlockNumberAndIndex = method({
  name: 'eth_getTransactionByBlockNumberAndIndex',
  doc: 'The transaction at an index of a block, or null.',
  result: 'transaction, or `null`',
  cost: 'read',
  params: [required('block', blockNumber), required('index', uint64)],
  handle: ({ core }, block, index) => core.request('getTransactionByBlockNumberAndIndex', { block, index }),
})
