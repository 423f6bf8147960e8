// eth_newFilter: Begins to collect logs that match emitters and topics; the id of the filter.
import { filter, followable } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'

export const newFilter = method({
  name: 'eth_newFilter',
  doc: 'Begins to collect logs that match emitters and topics; the id of the filter.',
  cost: 'read',
  keeps: true,
  params: [required('filter', (value) => followable(filter(value)))],
  handle: async ({ follow, client }, filter) => json(await follow.filters.open({ kind: 'logs', filter }, client)),
})
