// eth_fillTransaction: Fills in the nonce, gas and fees that a transaction leaves open:
// `{raw, tx}`, not signed.
import { transaction } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const fillTransaction = method({
  name: 'eth_fillTransaction',
  doc: 'Fills in the nonce, gas and fees that a transaction leaves open: `{raw, tx}`, not signed.',
  result: '`{raw, tx}`',
  cost: 'heavy',
  params: [required('transaction', transaction, {})],
  handle: ({ core }, transaction) => core.request('fillTransaction', { transaction }),
})
