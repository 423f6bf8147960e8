// web3_clientVersion: Name and version of this node.
import { json, method } from '../../method.ts'

export const clientVersion = method({
  name: 'web3_clientVersion',
  doc: 'Name and version of this node.',
  result: 'text',
  cost: 'read',
  params: [],
  handle: ({ clientVersion }) => json(clientVersion),
})
