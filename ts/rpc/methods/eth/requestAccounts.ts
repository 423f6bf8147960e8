// eth_requestAccounts: As eth_accounts; nobody has to be asked.
import { method } from '../../method.ts'

export const requestAccounts = method({
  name: 'eth_requestAccounts',
  doc: 'As eth_accounts; nobody has to be asked.',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('accounts', undefined),
})
