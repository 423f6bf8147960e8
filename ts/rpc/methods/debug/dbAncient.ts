// debug_dbAncient: Not served: there is no freezer. Use debug_getRawBlock.
import { anything } from '../../codec/index.ts'
import { notServed } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const dbAncientRefused = method({
  name: 'debug_dbAncient',
  doc: 'Not served: there is no freezer. Use debug_getRawBlock.',
  result: 'none: refused with the command to use',
  cost: 'read',
  params: [optional('first', anything), optional('second', anything)],
  handle: () => {
    throw notServed('debug_dbAncient', 'debug_getRawBlock')
  },
})
