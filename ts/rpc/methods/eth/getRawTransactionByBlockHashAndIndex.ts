// eth_getRawTransactionByBlockHashAndIndex: The EIP-2718 encoding of the transaction at an index of
// a block; `0x` if it does not exist.
import { hash, uint64 } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawTransactionByBlockHashAndIndex = method({
  name: 'eth_getRawTransactionByBlockHashAndIndex',
  doc: 'The EIP-2718 encoding of the transaction at an index of a block; `0x` if it does not exist.',
  result: 'data, `0x` for an unknown block or transaction',
  cost: 'read',
  params: [required('hash', hash), required('index', uint64)],
  handle: ({ core }, blockHash, index) => core.request('getRawTransactionByIndex', { block: { blockHash }, index }),
})
