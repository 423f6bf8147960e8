// eth_newFilter: Creates a filter for logs by address and topics; returns its id.
import { filter, followable } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'

export const newFilter = method({
  name: 'eth_newFilter',
  doc: 'Creates a filter for logs by address and topics; returns its id.',
  result: 'text: the id of the filter or subscription',
  cost: 'read',
  keeps: true,
  params: [required('filter', (value) => followable(filter(value)), {})],
  handle: async ({ follow, client }, filter) => json(await follow.filters.open({ kind: 'logs', filter }, client)),
})
