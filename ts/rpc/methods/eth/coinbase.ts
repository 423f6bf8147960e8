// eth_coinbase: Who gets the tips of blocks that this node makes: the zero address.
import { json, method } from '../../method.ts'

export const coinbase = method({
  name: 'eth_coinbase',
  doc: 'Who gets the tips of blocks that this node makes: the zero address.',
  cost: 'read',
  params: [],
  handle: () => json(`0x${'00'.repeat(20)}`),
})
