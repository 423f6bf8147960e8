// eth_getRawTransactionByHash: The EIP-2718 encoding of a transaction on the chain or in the pool;
// `0x` if it does not exist.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawTransactionByHash = method({
  name: 'eth_getRawTransactionByHash',
  doc: 'The EIP-2718 encoding of a transaction on the chain or in the pool; `0x` if it does not exist.',
  result: 'data, `0x` for an unknown block or transaction',
  cost: 'read',
  params: [required('hash', hash)],
  handle: ({ core }, hash) => core.request('getRawTransaction', { hash }),
})
