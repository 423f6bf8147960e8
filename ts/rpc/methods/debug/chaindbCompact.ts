// debug_chaindbCompact: Not served: the store compacts by itself. Use `hearth db`.
import { anything } from '../../codec/index.ts'
import { notServed } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const chaindbCompactRefused = method({
  name: 'debug_chaindbCompact',
  doc: 'Not served: the store compacts by itself. Use `hearth db`.',
  result: 'none: refused with the command to use',
  cost: 'read',
  params: [optional('first', anything), optional('second', anything)],
  handle: () => {
    throw notServed('debug_chaindbCompact', 'hearth db')
  },
})
