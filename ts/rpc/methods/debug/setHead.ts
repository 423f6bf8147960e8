// debug_setHead: Not served: any client could roll the chain back. Use `hearth db rollback`.
import { anything } from '../../codec/index.ts'
import { notServed } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const setHeadRefused = method({
  name: 'debug_setHead',
  doc: 'Not served: any client could roll the chain back. Use `hearth db rollback`.',
  result: 'none: refused with the command to use',
  cost: 'read',
  params: [optional('first', anything), optional('second', anything)],
  handle: () => {
    throw notServed('debug_setHead', 'hearth db rollback')
  },
})
