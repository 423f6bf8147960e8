// eth_getFilterChanges: The results of a filter since the last request for them.
import { word } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getFilterChanges = method({
  name: 'eth_getFilterChanges',
  doc: 'The results of a filter since the last request for them.',
  result: 'log[] or hash[], by the kind of the filter',
  cost: 'read',
  params: [required('id', word)],
  handle: ({ follow }, id) => follow.filters.changes(id),
})
