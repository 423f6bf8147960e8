// chain_getTransactionReceipt: The receipt of a native transaction, or of one of Ethereum.
import { readBytes } from '../../../core/results.ts'
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const chainTransactionReceipt = method({
  name: 'chain_getTransactionReceipt',
  doc: 'The receipt of a native transaction, which is a transaction of the Cosmos SDK in a block under CometBFT, by the SHA-256 of its bytes: its logs are synthetic, and no other method has them. `null` for one that failed. Of a transaction of Ethereum: that of eth_getTransactionReceipt, with `transactionIndex` and `logIndex` that count the native transactions of the block. Off by default: see `evm.enabled_legacy_chain_apis`.',
  result: 'receipt, or `null`',
  cost: 'read',
  params: [required('hash', hash)],
  handle: async ({ core }, hash) => {
    const receipt = await readBytes(core, 'nativeReceipt', { hash })
    // Blocks of the origin of a fork are not in the core.
    return Buffer.from(receipt).equals(NULL) ? core.request('getTransactionReceipt', { hash }) : receipt
  },
})

const NULL = Buffer.from('null')
