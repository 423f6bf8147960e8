// eth_getTransactionByBlockNumberAndIndex: A transaction by its place, or null.
import { blockNumber, uint64 } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getTransactionByBlockNumberAndIndex = method({
  name: 'eth_getTransactionByBlockNumberAndIndex',
  doc: 'A transaction by its place, or null.',
  cost: 'read',
  params: [required('block', blockNumber), required('index', uint64)],
  handle: ({ core }, block, index) => core.request('getTransactionByBlockNumberAndIndex', { block, index }),
})
