// eth_coinbase: The receiver of the tips of this node's blocks: the zero address.
import { json, method } from '../../method.ts'

export const coinbase = method({
  name: 'eth_coinbase',
  doc: "The receiver of the tips of this node's blocks: the zero address.",
  result: 'address',
  cost: 'read',
  params: [],
  handle: () => json(`0x${'00'.repeat(20)}`),
})
