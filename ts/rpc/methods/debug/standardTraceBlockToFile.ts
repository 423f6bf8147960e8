// debug_standardTraceBlockToFile: Not served: go-ethereum writes files on the node with it.
import { anything } from '../../codec/index.ts'
import { notServed } from '../../errors.ts'
import { method, optional } from '../../method.ts'

export const standardTraceBlockToFile = method({
  name: 'debug_standardTraceBlockToFile',
  doc: 'Not served: in go-ethereum it writes the traces to files on the machine of the node. Use debug_traceBlockByHash.',
  result: 'none: refused with the method to use',
  cost: 'read',
  params: [optional('hash', anything), optional('config', anything)],
  handle: () => {
    throw notServed('debug_standardTraceBlockToFile', 'debug_traceBlockByHash')
  },
})
