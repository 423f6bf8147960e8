// eth_newBlockFilter: Creates a filter for hashes of new blocks; returns its id.
import { json, method } from '../../method.ts'

export const newBlockFilter = method({
  name: 'eth_newBlockFilter',
  doc: 'Creates a filter for hashes of new blocks; returns its id.',
  result: 'text: the id of the filter or subscription',
  cost: 'read',
  keeps: true,
  params: [],
  handle: async ({ follow, client }) => json(await follow.filters.open({ kind: 'blocks' }, client)),
})
