// debug_dbGet: Not served: it would read rows of the stores by key. Use `hearth db dump`.
import { anything } from '../../codec/index.ts'
import { notServed } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const dbGetRefused = method({
  name: 'debug_dbGet',
  doc: 'Not served: it would read rows of the stores by key. Use `hearth db dump`.',
  result: 'none: refused with the command to use',
  cost: 'read',
  params: [optional('first', anything), optional('second', anything)],
  handle: () => {
    throw notServed('debug_dbGet', 'hearth db dump')
  },
})
