// eth_getHeaderByNumber: The header at a height or tag, or null.
import { blockNumber } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getHeaderByNumber = method({
  name: 'eth_getHeaderByNumber',
  doc: 'The header at a height or tag, or null.',
  result: 'header, or `null`',
  cost: 'read',
  params: [required('block', blockNumber)],
  handle: ({ core }, block) => core.request('getHeaderByNumber', { block }),
})
