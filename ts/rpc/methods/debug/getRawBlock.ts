// debug_getRawBlock: RLP of a block.
import { blockRef } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawBlock = method({
  name: 'debug_getRawBlock',
  doc: 'RLP of a block.',
  result: 'data, `0x` for an unknown block or transaction',
  cost: 'read',
  params: [required('block', blockRef)],
  handle: ({ core }, block) => core.request('getRawBlock', { block }),
})
