// debug_getRawReceipts: Receipts of a block in their consensus encoding.
import { blockRef } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getRawReceipts = method({
  name: 'debug_getRawReceipts',
  doc: 'Receipts of a block in their consensus encoding.',
  result: 'data[]',
  cost: 'read',
  params: [required('block', blockRef)],
  handle: ({ core }, block) => core.request('getRawReceipts', { block }),
})
