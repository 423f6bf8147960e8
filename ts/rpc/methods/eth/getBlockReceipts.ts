// eth_getBlockReceipts: The receipts of a block, or null.
import { blockRef } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getBlockReceipts = method({
  name: 'eth_getBlockReceipts',
  doc: 'The receipts of a block, or null.',
  result: 'receipt[], or `null`',
  cost: 'read',
  params: [required('block', blockRef)],
  handle: ({ core }, block) => core.request('getBlockReceipts', { block }),
})
