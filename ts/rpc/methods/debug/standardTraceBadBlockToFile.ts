// debug_standardTraceBadBlockToFile: Not served: go-ethereum writes files on the node with it.
import { anything } from '../../codec/index.ts'
import { notServed } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const standardTraceBadBlockToFile = method({
  name: 'debug_standardTraceBadBlockToFile',
  doc: 'Not served: in go-ethereum it writes the traces to files on the machine of the node. Use debug_traceBadBlock.',
  result: 'none: refused with the method to use',
  cost: 'read',
  params: [optional('hash', anything), optional('config', anything)],
  handle: () => {
    throw notServed('debug_standardTraceBadBlockToFile', 'debug_traceBadBlock')
  },
})
