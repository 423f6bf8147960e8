// eth_getUncleByBlockNumberAndIndex: An ommer as a block without transactions, or null.
import { blockNumber, uint64 } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getUncleByBlockNumberAndIndex = method({
  name: 'eth_getUncleByBlockNumberAndIndex',
  doc: 'An ommer as a block without transactions, or null.',
  result: 'header, or `null`',
  cost: 'read',
  params: [required('block', blockNumber), required('index', uint64)],
  handle: ({ core }, block, index) => core.request('getUncle', { block, index }),
})
