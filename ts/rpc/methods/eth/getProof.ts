// eth_getProof: An account and some of its slots after a block, with the trie nodes that prove them
// (EIP-1186).
import type { ProofSlot } from '../../../core/port.ts'
import { address, arrayOf, blockRef, type Codec, storageKey } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

/** Most slots of one request. */
const SLOTS_MAX = 10_000

/**
 * Minimum number of digits of a key that is returned in the form of the request; one leading zero
 * may be omitted.
 */
const WHOLE_DIGITS = 63

/** A storage key; one of 32 bytes is answered as such, a shorter one as a quantity. */
const slot: Codec<ProofSlot> = (value) => {
  const key = storageKey(value)
  return { slot: key, whole: String(value).replace(/^0x/i, '').length >= WHOLE_DIGITS }
}

export const getProof = method({
  name: 'eth_getProof',
  doc: 'An account and some of its slots after a block, with the trie nodes that prove them (EIP-1186). Works at every height whose state is kept.',
  result: '`{address, accountProof, balance, codeHash, nonce, storageHash, storageProof}`',
  cost: 'heavy',
  params: [required('address', address), required('storageKeys', arrayOf(slot, SLOTS_MAX), []), optional('block', blockRef)],
  handle: ({ core }, address, slots, block = 'latest') => core.request('getProof', { address, slots, block }),
})
