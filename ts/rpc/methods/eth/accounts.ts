// eth_accounts: The accounts that this node signs for: those of a development chain, none
// otherwise.
import { method } from '../../method.ts'

export const accounts = method({
  name: 'eth_accounts',
  doc: 'The accounts that this node signs for: those of a development chain, none otherwise.',
  result: 'address[]',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('accounts', undefined),
})
