// Look-ups that development nodes have in addition to the methods of every node: whole accounts, a
// sender's transaction, and the methods by which Hardhat identifies its node.

import type { BlockRef, Core, Hex } from '../../../core/port.ts'
import { readAs, readBytes, readText } from '../../../core/results.ts'
import { address, anything, blockRef, hash, hexOrDecimal, number64, transaction } from '../../codec/index.ts'
import { json, type Method, optional, type Result, required } from '../../method.ts'
import { sendAndWait } from '../../receipt-wait.ts'
import { minedBySenderAndNonce } from '../../sender-nonce.ts'
import { answering, named } from './named.ts'

const ZERO_HASH = `0x${'0'.repeat(64)}`

/**
 * Nonce, balance, storage root and code hash of an account as in the state trie; null if there
 * is no account.
 */
async function account(core: Core, address: Hex, block: BlockRef): Promise<Result> {
  const proof = await readAs<Record<'nonce' | 'balance' | 'storageHash' | 'codeHash', Hex>>(core, 'getProof', { address, slots: [], block })
  const { nonce, balance, storageHash, codeHash } = proof
  return json(codeHash === ZERO_HASH ? null : { nonce, balance, storageRoot: storageHash, codeHash })
}

/** The same block for several reads: the head may move between them. */
async function fixed(core: Core, block: BlockRef): Promise<BlockRef> {
  if (typeof block !== 'string' || block.startsWith('0x') || block === 'pending') return block
  return (await readAs<{ number: Hex }>(core, 'getBlockId', { block })).number
}

async function accountInfo(core: Core, address: Hex, given: BlockRef): Promise<Result> {
  const block = await fixed(core, given)
  const [balance, nonce, code] = await Promise.all([
    readText(core, 'getBalance', { address, block }),
    readText(core, 'getTransactionCount', { address, block }),
    readText(core, 'getCode', { address, block }),
  ])
  return `{"balance":${balance},"nonce":${nonce},"code":${code}}`
}

interface Transaction {
  readonly from: Hex
  readonly nonce: Hex
}

/**
 * The transaction of a sender with a nonce, mined or pending, or null. Its block is found by the
 * sender's nonces after earlier blocks.
 */
async function bySenderAndNonce(core: Core, sender: Hex, nonce: bigint): Promise<Result> {
  const address = sender.toLowerCase()
  const isWanted = (tx: Transaction): boolean => tx.from.toLowerCase() === address && BigInt(tx.nonce) === nonce
  const mined = await minedBySenderAndNonce(core, sender, nonce)
  if (mined !== undefined) return json(mined)
  type Waiting = Record<'pending' | 'queued', Record<string, Transaction>>
  const { pending, queued } = await readAs<Waiting>(core, 'txpoolContentFrom', { address })
  return json([...Object.values(pending), ...Object.values(queued)].find(isWanted) ?? null)
}

export const devLookups: readonly Method[] = [
  ...named(
    'eth_getAccount',
    'Nonce, balance, storage root and code hash of an account after a block, or null if the account does not exist.',
    '`{nonce, balance, storageRoot, codeHash}`, or `null`',
    [required('address', address), optional('block', blockRef)],
    ({ core }, address, block = 'latest') => account(core, address, block),
    'heavy',
  ),
  ...named(
    'eth_getAccountInfo',
    'Balance, nonce and code of an account after a block.',
    '`{balance, nonce, code}`',
    [required('address', address), optional('block', blockRef)],
    ({ core }, address, block = 'latest') => accountInfo(core, address, block),
    'heavy',
  ),
  ...named(
    'eth_getTransactionBySenderAndNonce',
    'The transaction of a sender with a nonce, mined or waiting, or null.',
    'transaction, or `null`',
    [required('address', address), required('nonce', number64)],
    ({ core }, address, nonce) => bySenderAndNonce(core, address, BigInt(nonce)),
    'heavy',
  ),
  ...named(
    'eth_sendTransactionSync',
    'As eth_sendTransaction, and waits for the receipt as eth_sendRawTransactionSync.',
    'receipt',
    [required('transaction', transaction), optional('timeout', hexOrDecimal)],
    (context, transaction, timeout) => sendAndWait(context, () => readBytes(context.core, 'sendTransaction', { transaction }), timeout),
  ),
  ...named(
    'anvil_getGenesisTime',
    'The time of block 0, in seconds, as a number.',
    'number',
    [],
    async ({ core }) => {
      const block = await readAs<{ timestamp: Hex }>(core, 'getBlockByNumber', { block: 'earliest', full: false })
      return json(Number(block.timestamp))
    },
    'read',
  ),
  ...named(
    'anvil_getBlobsByTransactionHash',
    'The blobs of a transaction that waits or is among the last mined ones, or null. Blocks have only hashes of blobs: 64 MiB of blobs are kept in memory, none beyond a restart.',
    'blobs, or `null`',
    [required('hash', hash)],
    ({ core }, hash) => core.request('blobsOfTransaction', { hash }),
    'heavy',
  ),
  ...named(
    'anvil_getBlobByHash',
    'A blob by its versioned hash, kept as for anvil_getBlobsByTransactionHash, or null.',
    'blobs, or `null`',
    [required('hash', hash)],
    ({ core }, hash) => core.request('blobByHash', { hash }),
    'heavy',
  ),
  ...named('hardhat_intervalMine', 'Makes a block of what waits, as one that comes by the clock; true.', 'boolean', [], ({ core }) =>
    answering(core, 'mine', {}, true),
  ),
  ...named(
    'hardhat_addCompilationResult',
    "Ignores the output of Hardhat's compiler: false. Source lines come from artifacts alone: `evm.explorer_artifacts` and `hearth trace --artifacts`.",
    'boolean',
    [optional('solcVersion', anything), optional('input', anything), optional('output', anything)],
    () => json(false),
  ),
  ...named(
    'hardhat_getStackTraceFailuresCount',
    'How often Hardhat could not make a stack trace of source lines: 0, since errors of this node have none.',
    'number',
    [],
    () => json(0),
    'read',
  ),
]
