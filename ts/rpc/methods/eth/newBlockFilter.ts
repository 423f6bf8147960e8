// eth_newBlockFilter: Begins to collect hashes of new blocks; the id of the filter.
import { json, method } from '../../method.ts'

export const newBlockFilter = method({
  name: 'eth_newBlockFilter',
  doc: 'Begins to collect hashes of new blocks; the id of the filter.',
  cost: 'read',
  keeps: true,
  params: [],
  handle: async ({ follow, client }) => json(await follow.filters.open({ kind: 'blocks' }, client)),
})
