// debug_storageRangeAt: Storage of an account before a transaction of a block, in the order of the
// hashed slots.
import type { Data } from '../../../core/port.ts'
import { address, blockRef, type Codec, data, hexOrDecimal } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

/** Bytes. The empty text is no bytes, as in go-ethereum. */
const start: Codec<Data> = (value) => (value === '' ? '0x' : data(value))

/** A number of slots; go-ethereum takes negative ones for none. */
const count: Codec<string> = (value) => (typeof value === 'number' && Number.isInteger(value) && value < 0 ? '0x0' : hexOrDecimal(value))

export const storageRangeAt = method({
  name: 'debug_storageRangeAt',
  doc: 'Storage of an account before a transaction of a block, in the order of the hashed slots.',
  result: '`{storage, nextKey}`',
  cost: 'heavy',
  params: [
    required('block', blockRef),
    required('txIndex', hexOrDecimal),
    required('address', address),
    required('keyStart', start),
    required('maxResult', count),
  ],
  handle: ({ core }, block, txIndex, address, keyStart, maxResult) =>
    core.request('storageRangeAt', { block, txIndex, address, keyStart, maxResult }),
})
