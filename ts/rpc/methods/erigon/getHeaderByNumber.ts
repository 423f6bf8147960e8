// erigon_getHeaderByNumber: A header by number or tag, or null: what Otterscan asks a node for first.
import { blockNumber } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const erigonHeaderByNumber = method({
  name: 'erigon_getHeaderByNumber',
  doc: 'A header by number or tag, or null: what Otterscan asks a node for first.',
  cost: 'read',
  params: [required('block', blockNumber)],
  handle: ({ core }, block) => core.request('getHeaderByNumber', { block }),
})
