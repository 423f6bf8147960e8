// eth_getStorageAt: A storage slot of an account after a block, as 32 bytes.
import { address, blockRef, storageKey } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const getStorageAt = method({
  name: 'eth_getStorageAt',
  doc: 'A storage slot of an account after a block, as 32 bytes.',
  result: 'hash',
  cost: 'read',
  params: [required('address', address), required('slot', storageKey), optional('block', blockRef)],
  handle: ({ core }, address, slot, block) => core.request('getStorageAt', { address, slot, block }),
})
