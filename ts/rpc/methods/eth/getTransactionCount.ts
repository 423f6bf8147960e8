// eth_getTransactionCount: Nonce of an account after a block; with pending, what waits in the pool counts.
import { address, blockRef } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { forward } from '../../submission.ts'

export const getTransactionCount = method({
  name: 'eth_getTransactionCount',
  doc: 'Nonce of an account after a block; with pending, what waits in the pool counts. Where transactions are forwarded (`evm.forward_url`), pending is forwarded too.',
  cost: 'read',
  params: [required('address', address), optional('block', blockRef)],
  handle: ({ core, submission }, address, block) =>
    block === 'pending' && typeof submission === 'function'
      ? forward(submission, { method: 'eth_getTransactionCount', params: [address, block] })
      : core.read('getTransactionCount', { address, block }),
})
