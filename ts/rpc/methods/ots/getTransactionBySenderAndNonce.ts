// ots_getTransactionBySenderAndNonce: The hash of the mined transaction of a sender with a nonce,
// or null.
import { address, number64 } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'
import { minedBySenderAndNonce } from '../../sender-nonce.ts'

export const otsBySenderAndNonce = method({
  name: 'ots_getTransactionBySenderAndNonce',
  doc: 'The hash of the mined transaction with a sender and nonce, or null. Needs the states of the blocks that it reads.',
  cost: 'heavy',
  params: [required('sender', address), required('nonce', number64)],
  handle: async ({ core }, sender, nonce) =>
    json((await minedBySenderAndNonce(core, sender as `0x${string}`, BigInt(nonce)))?.hash ?? null),
})
