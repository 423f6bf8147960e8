// eth_accounts: Accounts that this node signs for: those of the development chain, none elsewhere.
import { method } from '../../method.ts'

export const accounts = method({
  name: 'eth_accounts',
  doc: 'Accounts that this node signs for: those of the development chain, none elsewhere.',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('accounts', undefined),
})
