// txpool_contentFrom: Transactions of one account in the pool, by nonce.
import { address } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const contentFrom = method({
  name: 'txpool_contentFrom',
  doc: 'Transactions of one account in the pool, by nonce.',
  result: '`{pending, queued}`',
  cost: 'heavy',
  params: [required('address', address)],
  handle: ({ core }, address) => core.request('txpoolContentFrom', { address }),
})
