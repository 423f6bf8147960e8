// erigon_getHeaderByNumber: A header by number or tag, or null: the first request of Otterscan to a node.
import { blockNumber } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const erigonHeaderByNumber = method({
  name: 'erigon_getHeaderByNumber',
  doc: 'A header by number or tag, or null: the first request of Otterscan to a node.',
  cost: 'read',
  params: [required('block', blockNumber)],
  handle: ({ core }, block) => core.request('getHeaderByNumber', { block }),
})
