// chain_getTransactionReceipt: The receipt of a transaction.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const chainTransactionReceipt = method({
  name: 'chain_getTransactionReceipt',
  doc: 'The receipt of a transaction, or null. No block of this node has transactions from outside the EVM, so it is that of eth_getTransactionReceipt. Off by default: see `evm.enabled_legacy_chain_apis`.',
  cost: 'read',
  params: [required('hash', hash)],
  handle: ({ core }, hash) => core.request('getTransactionReceipt', { hash }),
})
