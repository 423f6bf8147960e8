// eth_getFilterLogs: All logs in the range of a log filter that match it.
import { word } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getFilterLogs = method({
  name: 'eth_getFilterLogs',
  doc: 'All logs in the range of a log filter that match it.',
  result: 'log[]',
  cost: 'heavy',
  params: [required('id', word)],
  handle: ({ core, follow }, id) => core.request('getLogs', { filter: follow.filters.criteria(id) }),
})
