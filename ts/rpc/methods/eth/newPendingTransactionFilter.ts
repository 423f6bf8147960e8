// eth_newPendingTransactionFilter: Creates a filter for pending transactions: their hashes, or
// whole transactions if `full` is true; returns its id.
import { boolean } from '../../codec/index.ts'
import { json, method, optional } from '../../method.ts'

export const newPendingTransactionFilter = method({
  name: 'eth_newPendingTransactionFilter',
  doc: 'Creates a filter for pending transactions: their hashes, or whole transactions if `full` is true; returns its id.',
  result: 'text: the id of the filter or subscription',
  cost: 'read',
  keeps: true,
  params: [optional('full', boolean)],
  handle: async ({ follow, client }, full) => json(await follow.filters.open({ kind: 'transactions', full: full ?? false }, client)),
})
