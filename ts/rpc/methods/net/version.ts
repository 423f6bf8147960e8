// net_version: The network id, in decimal.
import { method } from '../../method.ts'

export const version = method({
  name: 'net_version',
  doc: 'The network id, in decimal.',
  result: 'text',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('netVersion', undefined),
})
