// eth_uninstallFilter: Removes a filter; returns whether it existed.
import { word } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'

export const uninstallFilter = method({
  name: 'eth_uninstallFilter',
  doc: 'Removes a filter; returns whether it existed.',
  result: 'boolean',
  cost: 'read',
  params: [required('id', word)],
  handle: ({ follow }, id) => json(follow.filters.close(id)),
})
