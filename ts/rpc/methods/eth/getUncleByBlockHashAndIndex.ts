// eth_getUncleByBlockHashAndIndex: An ommer as a block without transactions, or null.
import { hash, uint64 } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getUncleByBlockHashAndIndex = method({
  name: 'eth_getUncleByBlockHashAndIndex',
  doc: 'An ommer as a block without transactions, or null.',
  result: 'header, or `null`',
  cost: 'read',
  params: [required('hash', hash), required('index', uint64)],
  handle: ({ core }, blockHash, index) => core.request('getUncle', { block: { blockHash }, index }),
})
