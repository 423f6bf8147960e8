// Blocks in the form of Otterscan's methods, out of what the methods of every node say of them.

import type { Core, Hex } from '../core/port.ts'
import { readAs } from '../core/results.ts'

/** Bytes of a transaction's input that a list of transactions has: the selector of a method. */
const SELECTOR_BYTES = 4

/** A block as eth_getBlockByNumber has it, as far as these methods look. */
export interface Block {
  readonly number: Hex
  /** Null in the pending block. */
  readonly hash: Hex | null
  readonly difficulty: Hex
  readonly transactions: readonly unknown[]
}

interface Receipt {
  readonly gasUsed: Hex
  /** Null in the pending block. */
  readonly effectiveGasPrice: Hex | null
}

interface Rewards {
  readonly block: Hex
  readonly ommers: Hex
}

const hex = (n: bigint): Hex => `0x${n.toString(16)}`

/** The JSON of an answer of the core. */
export const parsed = <T>(bytes: Uint8Array | string): T =>
  JSON.parse(typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString()) as T

const sum = (values: readonly bigint[]): bigint => values.reduce((all, value) => all + value, 0n)

/**
 * What a block paid to its miner and to those of its uncles; nothing since the merge, and nothing
 * yet if it is pending.
 */
async function issuance(core: Core, { hash, difficulty }: Block): Promise<Record<'blockReward' | 'uncleReward' | 'issuance', Hex>> {
  const paid = hash === null || BigInt(difficulty) === 0n ? null : await readAs<Rewards | null>(core, 'blockRewards', { hash })
  const [blockReward, uncleReward] = [BigInt(paid?.block ?? 0), BigInt(paid?.ommers ?? 0)]
  return { blockReward: hex(blockReward), uncleReward: hex(uncleReward), issuance: hex(blockReward + uncleReward) }
}

/**
 * The receipts of a block, by its hash: its number names another block where this one is not
 * canonical, and none where it is pending.
 */
const receiptsOf = async (core: Core, { hash }: Block): Promise<readonly Receipt[]> =>
  await readAs<readonly Receipt[]>(core, 'getBlockReceipts', { block: hash === null ? 'pending' : { blockHash: hash } })

/** All fees of a block; those of the pending block are what its transactions would pay. */
async function feesOf(core: Core, block: Block): Promise<bigint> {
  const receipts = await receiptsOf(core, block)
  let prices = receipts.map(({ effectiveGasPrice }) => effectiveGasPrice)
  if (block.hash === null) {
    const args = { block: 'pending', full: true }
    const pending = await readAs<{ readonly transactions: readonly { readonly gasPrice: Hex }[] }>(core, 'getBlockByNumber', args)
    prices = pending.transactions.map(({ gasPrice }) => gasPrice)
  }
  return sum(receipts.map(({ gasUsed }, i) => BigInt(gasUsed) * BigInt(prices[i] ?? 0)))
}

/**
 * A block without its transactions, with its rewards and its fees, including burnt ones; null if
 * there is none.
 */
export async function blockDetails(core: Core, block: Block | null): Promise<unknown> {
  if (block === null) return null
  const { transactions, ...header } = block
  return {
    block: { ...header, logsBloom: null, transactionCount: transactions.length },
    issuance: await issuance(core, block),
    totalFees: hex(await feesOf(core, block)),
  }
}

/**
 * One page of a block's transactions and their receipts, without logs; page 0 has the last ones.
 */
export async function blockTransactions(core: Core, block: Block | null, page: number, pageSize: number): Promise<unknown> {
  if (block === null) return null
  const end = Math.max(0, block.transactions.length - page * pageSize)
  const start = Math.max(0, end - pageSize)
  const transactions = (block.transactions as readonly { readonly input: Hex }[])
    .slice(start, end)
    .map((tx) => ({ ...tx, input: tx.input.slice(0, 2 + 2 * SELECTOR_BYTES) }))
  const receipts = (await receiptsOf(core, block)).slice(start, end).map((r) => ({ ...r, logs: null, logsBloom: null }))
  const fullblock = { ...block, logsBloom: null, transactions, transactionCount: block.transactions.length }
  return { fullblock, receipts }
}
