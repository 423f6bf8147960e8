// debug_chaindbProperty: Not served: metrics have it. Use the metrics page.
import { anything } from '../../codec/index.ts'
import { notServed } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const chaindbPropertyRefused = method({
  name: 'debug_chaindbProperty',
  doc: 'Not served: metrics have it. Use the metrics page.',
  result: 'none: refused with the command to use',
  cost: 'read',
  params: [optional('first', anything), optional('second', anything)],
  handle: () => {
    throw notServed('debug_chaindbProperty', 'the metrics page')
  },
})
