// eth_signTransaction: Fills in and signs a transaction from an account of eth_accounts:
// `{raw, tx}`.
import { transaction } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const signTransaction = method({
  name: 'eth_signTransaction',
  doc: 'Fills in and signs a transaction from an account of eth_accounts: `{raw, tx}`.',
  result: '`{raw, tx}`',
  cost: 'heavy',
  params: [required('transaction', transaction, {})],
  handle: ({ core }, transaction) => core.request('signTransaction', { transaction }),
})
