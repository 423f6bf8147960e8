// erigon_getHeaderByNumber: The header at a height or tag, or null. Otterscan sends this request
// first.
import { blockNumber } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const erigonHeaderByNumber = method({
  name: 'erigon_getHeaderByNumber',
  doc: 'The header at a height or tag, or null. Otterscan sends this request first.',
  result: 'header, or `null`',
  cost: 'read',
  params: [required('block', blockNumber)],
  handle: ({ core }, block) => core.request('getHeaderByNumber', { block }),
})
