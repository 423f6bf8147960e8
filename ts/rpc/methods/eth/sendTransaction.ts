// eth_sendTransaction: Fills in, signs and sends a transaction from an account of eth_accounts, by
// default the first one; returns its hash.
import { transaction } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const sendTransaction = method({
  name: 'eth_sendTransaction',
  doc: 'Fills in, signs and sends a transaction from an account of eth_accounts, by default the first one; returns its hash.',
  result: 'hash',
  cost: 'write',
  params: [required('transaction', transaction, {})],
  handle: ({ core }, transaction) => core.request('sendTransaction', { transaction }),
})
