// eth_getFilterLogs: All logs that match a filter for logs, in the range that it names.
import { word } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getFilterLogs = method({
  name: 'eth_getFilterLogs',
  doc: 'All logs that match a filter for logs, in the range that it names.',
  cost: 'heavy',
  params: [required('id', word)],
  handle: ({ core, follow }, id) => core.request('getLogs', { filter: follow.filters.criteria(id) }),
})
