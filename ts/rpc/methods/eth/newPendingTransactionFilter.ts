// eth_newPendingTransactionFilter: Begins to collect transactions that wait for a block: their hashes, or all of them where `full` is true; the id of the filter.
import { boolean } from '../../codec/index.ts'
import { json, method, optional } from '../../method.ts'

export const newPendingTransactionFilter = method({
  name: 'eth_newPendingTransactionFilter',
  doc: 'Begins to collect transactions that wait for a block: their hashes, or all of them where `full` is true; the id of the filter.',
  cost: 'read',
  keeps: true,
  params: [optional('full', boolean)],
  handle: async ({ follow, client }, full) => json(await follow.filters.open({ kind: 'transactions', full: full ?? false }, client)),
})
