// debug_dbAncients: Not served: there is no freezer. Use eth_capabilities.
import { anything } from '../../codec/index.ts'
import { notServed } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const dbAncientsRefused = method({
  name: 'debug_dbAncients',
  doc: 'Not served: there is no freezer. Use eth_capabilities.',
  result: 'none: refused with the command to use',
  cost: 'read',
  params: [optional('first', anything), optional('second', anything)],
  handle: () => {
    throw notServed('debug_dbAncients', 'eth_capabilities')
  },
})
