// eth_getUncleCountByBlockNumber: The number of ommers of a block, or null.
import { blockNumber } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getUncleCountByBlockNumber = method({
  name: 'eth_getUncleCountByBlockNumber',
  doc: 'The number of ommers of a block, or null.',
  result: 'quantity, or `null` for an unknown block',
  cost: 'read',
  params: [required('block', blockNumber)],
  handle: ({ core }, block) => core.request('getUncleCount', { block }),
})
