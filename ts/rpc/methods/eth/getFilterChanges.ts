// eth_getFilterChanges: What a filter has collected since it was last asked.
import { word } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getFilterChanges = method({
  name: 'eth_getFilterChanges',
  doc: 'What a filter has collected since it was last asked.',
  cost: 'read',
  params: [required('id', word)],
  handle: ({ follow }, id) => follow.filters.changes(id),
})
