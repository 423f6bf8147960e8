// txpool_inspect: Transactions in the pool, by account and nonce, each as one line of text.
import { method } from '../../method.ts'

export const inspect = method({
  name: 'txpool_inspect',
  doc: 'Transactions in the pool, by account and nonce, each as one line of text.',
  result: '`{pending, queued}`',
  cost: 'heavy',
  params: [],
  handle: ({ core }) => core.request('txpoolInspect', undefined),
})
