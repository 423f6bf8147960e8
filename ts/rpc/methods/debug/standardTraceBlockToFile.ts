// debug_standardTraceBlockToFile: not served, for it writes files on the machine of the node.
import { anything } from '../../codec/index.ts'
import { notServed } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const standardTraceBlockToFile = method({
  name: 'debug_standardTraceBlockToFile',
  doc: 'Not served: it would write files on the machine of the node. Use debug_traceBlockByHash.',
  result: 'text[]: the files',
  cost: 'read',
  params: [optional('hash', anything), optional('config', anything)],
  handle: () => {
    throw notServed('debug_standardTraceBlockToFile', 'debug_traceBlockByHash')
  },
})
