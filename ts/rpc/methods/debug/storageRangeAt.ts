// debug_storageRangeAt: Storage of an account before a transaction of a block, in the order of the hashed slots.
import { address, blockRef, data, hexOrDecimal } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const storageRangeAt = method({
  name: 'debug_storageRangeAt',
  doc: 'Storage of an account before a transaction of a block, in the order of the hashed slots.',
  cost: 'heavy',
  params: [
    required('block', blockRef),
    required('txIndex', hexOrDecimal),
    required('address', address),
    required('keyStart', data),
    required('maxResult', hexOrDecimal),
  ],
  handle: ({ core }, block, txIndex, address, keyStart, maxResult) =>
    core.request('storageRangeAt', { block, txIndex, address, keyStart, maxResult }),
})
