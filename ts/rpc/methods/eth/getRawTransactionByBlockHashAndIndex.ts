// eth_getRawTransactionByBlockHashAndIndex: The EIP-2718 encoding of the transaction at an index of
// a block; `0x` if it does not exist.
import { hash, uint64 } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawTransactionByBlockHashAndIndex = method({
  name: 'eth_getRawTransactionByBlockHashAndIndex',
  doc: 'The EIP-2718 encoding of the transaction at an index of a block; `0x` if it does not exist.',
  cost: 'read',
  params: [required('hash', hash), required('index', uint64)],
  handle: ({ core }, blockHash, index) => core.request('getRawTransactionByIndex', { block: { blockHash }, index }),
})
