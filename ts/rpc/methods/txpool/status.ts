// txpool_status: The number of transactions in the pool: executable ones, and ones behind a nonce
// gap.
import { method } from '../../method.ts'

export const status = method({
  name: 'txpool_status',
  doc: 'The number of transactions in the pool: executable ones, and ones behind a nonce gap.',
  result: '`{pending, queued}`',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('txpoolStatus', undefined),
})
