// chain_getTransactionReceipt: known and disabled, for this node has no transactions from outside
// the EVM.
import { anything } from '../../codec/index.ts'
import { chainDisabled } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const chainTransactionReceipt = method({
  name: 'chain_getTransactionReceipt',
  doc: 'Disabled: receipts of transactions outside the EVM, which this node does not have. Use eth_getTransactionReceipt.',
  cost: 'read',
  params: [optional('hash', anything)],
  handle: () => {
    throw chainDisabled('chain_getTransactionReceipt')
  },
})
