// txpool_content: Transactions in the pool, by account and nonce.
import { method } from '../../method.ts'

export const content = method({
  name: 'txpool_content',
  doc: 'Transactions in the pool, by account and nonce.',
  result: '`{pending, queued}`',
  cost: 'heavy',
  params: [],
  handle: ({ core }) => core.request('txpoolContent', undefined),
})
