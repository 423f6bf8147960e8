// eth_uninstallFilter: Ends a filter; whether there was one.
import { word } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'

export const uninstallFilter = method({
  name: 'eth_uninstallFilter',
  doc: 'Ends a filter; whether there was one.',
  cost: 'read',
  params: [required('id', word)],
  handle: ({ follow }, id) => json(follow.filters.close(id)),
})
