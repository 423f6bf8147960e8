// txpool_status: How many transactions wait in the pool: executable ones, and ones behind a gap.
import { method } from '../../method.ts'

export const status = method({
  name: 'txpool_status',
  doc: 'How many transactions wait in the pool: executable ones, and ones behind a gap.',
  cost: 'read',
  params: [],
  handle: ({ core }) => core.request('txpoolStatus', undefined),
})
