// eth_getRawTransactionByBlockNumberAndIndex: The EIP-2718 encoding of the transaction at an index
// of a block; `0x` if it does not exist.
import { blockNumber, uint64 } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawTransactionByBlockNumberAndIndex = method({
  name: 'eth_getRawTransactionByBlockNumberAndIndex',
  doc: 'The EIP-2718 encoding of the transaction at an index of a block; `0x` if it does not exist.',
  result: 'data, `0x` for an unknown block or transaction',
  cost: 'read',
  params: [required('block', blockNumber), required('index', uint64)],
  handle: ({ core }, block, index) => core.request('getRawTransactionByIndex', { block, index }),
})
