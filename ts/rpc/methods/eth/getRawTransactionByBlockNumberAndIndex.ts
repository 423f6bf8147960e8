// eth_getRawTransactionByBlockNumberAndIndex: A transaction by its place in its EIP-2718 encoding; no bytes if it does not exist.
import { blockNumber, uint64 } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawTransactionByBlockNumberAndIndex = method({
  name: 'eth_getRawTransactionByBlockNumberAndIndex',
  doc: 'A transaction by its place in its EIP-2718 encoding; no bytes if it does not exist.',
  cost: 'read',
  params: [required('block', blockNumber), required('index', uint64)],
  handle: ({ core }, block, index) => core.request('getRawTransactionByIndex', { block, index }),
})
