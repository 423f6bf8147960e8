// eth_getStorageValues: Slots of several accounts after a block.
import { address, arrayOf, blockRef, hash, mapOf } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

/**
 * Most accounts of one request, and most slots of one account, that are read at all; the core's own
 * limit is lower.
 */
const ENTRIES_MAX = 10_000

export const getStorageValues = method({
  name: 'eth_getStorageValues',
  doc: 'Storage slots of several accounts after a block, by account.',
  result: '`{address: hash[]}`',
  cost: 'heavy',
  params: [required('requests', mapOf(address, arrayOf(hash, ENTRIES_MAX), ENTRIES_MAX)), optional('block', blockRef)],
  handle: ({ core }, requests, block) => core.request('getStorageValues', { requests, block }),
})
