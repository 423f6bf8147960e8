// eth_config: Rules in force at the head, those of the next fork by time, and those of the last one
// that is scheduled (EIP-7910).
import { method } from '../../method.ts'

export const config = method({
  name: 'eth_config',
  doc: 'Rules in force at the head, those of the next fork by time, and those of the last one that is scheduled (EIP-7910).',
  result: '`{current, next, last}`',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('config', undefined),
})
