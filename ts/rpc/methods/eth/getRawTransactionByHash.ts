// eth_getRawTransactionByHash: A transaction on the chain or in the pool in its EIP-2718 encoding; no bytes if it does not exist.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawTransactionByHash = method({
  name: 'eth_getRawTransactionByHash',
  doc: 'A transaction on the chain or in the pool in its EIP-2718 encoding; no bytes if it does not exist.',
  cost: 'read',
  params: [required('hash', hash)],
  handle: ({ core }, hash) => core.request('getRawTransaction', { hash }),
})
