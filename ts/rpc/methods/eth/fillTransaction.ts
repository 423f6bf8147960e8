// eth_fillTransaction: A transaction with the nonce, gas and fees that it leaves open: `{raw, tx}`, not signed.
import { transaction } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const fillTransaction = method({
  name: 'eth_fillTransaction',
  doc: 'A transaction with the nonce, gas and fees that it leaves open: `{raw, tx}`, not signed.',
  cost: 'heavy',
  params: [required('transaction', transaction)],
  handle: ({ core }, transaction) => core.request('fillTransaction', { transaction }),
})
