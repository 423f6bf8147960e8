// debug_getRawHeader: RLP of a header.
import { blockRef } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawHeader = method({
  name: 'debug_getRawHeader',
  doc: 'RLP of a header.',
  result: 'data, `0x` for an unknown block or transaction',
  cost: 'read',
  params: [required('block', blockRef)],
  handle: ({ core }, block) => core.request('getRawHeader', { block }),
})
