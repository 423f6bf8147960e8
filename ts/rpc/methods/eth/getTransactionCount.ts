// eth_getTransactionCount: Nonce of an account after a block; with pending, what waits in the pool
// counts.
import { address, blockRef } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { countOfOwner, forward } from '../../submission.ts'

export const getTransactionCount = method({
  name: 'eth_getTransactionCount',
  doc: 'The nonce of an account after a block; with pending, transactions in the pool count. If transactions are forwarded (`evm.forward_url`) or redirected (`consensus.redirect`), a request for pending is too.',
  result: 'quantity',
  cost: 'read',
  params: [required('address', address), optional('block', blockRef)],
  handle: ({ core, submission, redirect }, address, block) => {
    const own = () => core.request('getTransactionCount', { address, block })
    if (block !== 'pending') return own()
    if (typeof submission === 'function') return forward(submission, { method: 'eth_getTransactionCount', params: [address, block] })
    return redirect === undefined ? own() : countOfOwner(redirect, address, async () => await own())
  },
})
