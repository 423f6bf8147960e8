// eth_requestAccounts: The same as eth_accounts; no permission is needed.
import { method } from '../../method.ts'

export const requestAccounts = method({
  name: 'eth_requestAccounts',
  doc: 'The same as eth_accounts; no permission is needed.',
  result: 'address[]',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('accounts', undefined),
})
