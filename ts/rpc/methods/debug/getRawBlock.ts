// debug_getRawBlock: RLP of a block.
import { blockRef } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawBlock = method({
  name: 'debug_getRawBlock',
  doc: 'RLP of a block.',
  cost: 'read',
  params: [required('block', blockRef)],
  handle: ({ core }, block) => core.request('getRawBlock', { block }),
})
