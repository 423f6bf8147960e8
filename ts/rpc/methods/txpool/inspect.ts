// txpool_inspect: Transactions that wait in the pool, by account and nonce, each in one line.
import { method } from '../../method.ts'

export const inspect = method({
  name: 'txpool_inspect',
  doc: 'Transactions that wait in the pool, by account and nonce, each in one line.',
  cost: 'heavy',
  params: [],
  handle: ({ core }) => core.request('txpoolInspect', undefined),
})
