// eth_capabilities: The head, and the oldest block for which each kind of data is kept.
import { method } from '../../method.ts'

export const capabilities = method({
  name: 'eth_capabilities',
  doc: 'The head, and the oldest block for which each kind of data is kept.',
  result: '`{head, state, …}`',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('capabilities', undefined),
})
