// eth_getTransactionCount: Nonce of an account after a block; with pending, what waits in the pool
// counts.
import { address, blockRef } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { forward } from '../../submission.ts'

export const getTransactionCount = method({
  name: 'eth_getTransactionCount',
  doc: 'The nonce of an account after a block; with pending, transactions in the pool count. If transactions are forwarded (`evm.forward_url`), a request for pending is forwarded too.',
  cost: 'read',
  params: [required('address', address), optional('block', blockRef)],
  handle: ({ core, submission }, address, block) =>
    block === 'pending' && typeof submission === 'function'
      ? forward(submission, { method: 'eth_getTransactionCount', params: [address, block] })
      : core.read('getTransactionCount', { address, block }),
})
