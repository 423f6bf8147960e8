// debug_standardTraceBadBlockToFile: not served, for it writes files on the machine of the node.
import { anything } from '../../codec/index.ts'
import { notServed } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const standardTraceBadBlockToFile = method({
  name: 'debug_standardTraceBadBlockToFile',
  doc: 'Not served: it would write files on the machine of the node. Use debug_traceBadBlock.',
  result: 'text[]: the files',
  cost: 'read',
  params: [optional('hash', anything), optional('config', anything)],
  handle: () => {
    throw notServed('debug_standardTraceBadBlockToFile', 'debug_traceBadBlock')
  },
})
