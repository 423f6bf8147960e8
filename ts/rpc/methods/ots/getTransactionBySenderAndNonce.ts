// ots_getTransactionBySenderAndNonce: The hash of the mined transaction of a sender with a nonce,
// or null.
import { readBytes } from '../../../core/results.ts'
import { address, number64 } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'
import { minedBySenderAndNonce, orWithoutHistory } from '../../sender-nonce.ts'

export const otsBySenderAndNonce = method({
  name: 'ots_getTransactionBySenderAndNonce',
  doc: 'The hash of the mined transaction with a sender and nonce, or null. Reads the history of states; without it, the address index (evm.address_index).',
  result: 'hash, or `null`',
  cost: 'heavy',
  params: [required('sender', address), required('nonce', number64)],
  handle: ({ core, trace }, sender, nonce) => {
    const byHistory = async () => json((await minedBySenderAndNonce(core, sender, BigInt(nonce)))?.hash ?? null)
    const byIndex = () => readBytes(core, 'senderTransaction', { address: sender, nonce, maxBlocks: trace.filterMaxBlocks })
    return orWithoutHistory(byHistory, byIndex)
  },
})
