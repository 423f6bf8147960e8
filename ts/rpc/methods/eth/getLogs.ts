// eth_getLogs: Logs of a block or of a range of blocks, by address and topics.
import { filter } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getLogs = method({
  name: 'eth_getLogs',
  doc: 'Logs of a block or of a range of blocks, by address and topics.',
  result: 'log[]',
  cost: 'heavy',
  params: [required('filter', filter, {})],
  handle: ({ core }, filter) => core.request('getLogs', { filter }),
})
