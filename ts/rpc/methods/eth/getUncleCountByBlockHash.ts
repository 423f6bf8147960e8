// eth_getUncleCountByBlockHash: The number of ommers of a block, or null.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getUncleCountByBlockHash = method({
  name: 'eth_getUncleCountByBlockHash',
  doc: 'The number of ommers of a block, or null.',
  result: 'quantity, or `null` for an unknown block',
  cost: 'read',
  params: [required('hash', hash)],
  handle: ({ core }, blockHash) => core.request('getUncleCount', { block: { blockHash } }),
})
