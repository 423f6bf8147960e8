// The transactions that a command line names, with their calls.
import { buildTree, type Frame, type RawFrame, steppedOf, traceCallOf, type WhatIf } from '../../explore/index.ts'
import { CALL_MS_MAX, type RpcCall, TraceError } from './source.ts'

/** A transaction, or a call that is not mined, with what its heading says. */
export interface Traced {
  /** Hash of the transaction; a word for a call. */
  readonly hash: string
  /** Place in the block; undefined for a call on the state after the block. */
  readonly index: number | undefined
  readonly gasLimit: number
  readonly gasUsed: number
  readonly top: Frame
  /** First parameter of the methods for steps. */
  readonly subject: unknown
  /** Requests another trace of it. */
  readonly trace: (options: object) => Promise<unknown>
}

/** The transactions of a command line, all of one block. */
export interface Found {
  readonly block: number
  /** Hash of the block, where the command line names it. */
  readonly whole: string | undefined
  readonly traced: readonly Traced[]
}

export const TRACER = { tracer: 'callTracer', tracerConfig: { withLog: true }, timeout: `${CALL_MS_MAX / 1000}s` } as const

interface RpcTransaction {
  readonly hash: string
  readonly gas: string
  readonly blockNumber: string | null
  readonly transactionIndex: string
}

async function oneTransaction(rpc: RpcCall, hash: string): Promise<Found> {
  const transaction = (await rpc('eth_getTransactionByHash', hash)) as RpcTransaction | null
  if (transaction === null) throw new TraceError(`transaction ${hash} is not known to this node`)
  if (transaction.blockNumber === null) throw new TraceError(`transaction ${hash} waits in the pool: it has no trace yet`)
  const receipt = (await rpc('eth_getTransactionReceipt', hash)) as { gasUsed: string } | null
  const trace = (options: object): Promise<unknown> => rpc('debug_traceTransaction', hash, options)
  const top = buildTree((await trace(TRACER)) as RawFrame)
  const [index, gasLimit] = [Number(transaction.transactionIndex), Number(transaction.gas)]
  const gasUsed = receipt === null ? top.gasUsed : Number(receipt.gasUsed)
  return {
    block: Number(transaction.blockNumber),
    whole: undefined,
    traced: [{ hash, index, gasLimit, gasUsed, top, subject: hash, trace }],
  }
}

interface RpcBlock {
  readonly number: string
  readonly hash: string
  readonly transactions: readonly RpcTransaction[]
}

/** Characters of a hash with its prefix. */
const HASH_CHARACTERS = 66

async function blockOf(rpc: RpcCall, tag: string, isWhole: boolean): Promise<RpcBlock> {
  const block = (await rpc(tag.length === HASH_CHARACTERS ? 'eth_getBlockByHash' : 'eth_getBlockByNumber', tag, isWhole)) as RpcBlock | null
  if (block === null)
    throw new TraceError(`block ${/^0x/.test(tag) && tag.length < HASH_CHARACTERS ? BigInt(tag) : tag} is not known to this node`)
  return block
}

async function wholeBlock(rpc: RpcCall, given: string): Promise<Found> {
  const block = await blockOf(rpc, /^\d+$/.test(given) ? `0x${BigInt(given).toString(16)}` : given, true)
  const traces = (await rpc('debug_traceBlockByHash', block.hash, TRACER)) as { result?: RawFrame; error?: string }[]
  const traced = block.transactions.map((transaction, index): Traced => {
    const { result, error } = traces[index] ?? {}
    const { hash } = transaction
    if (result === undefined) throw new TraceError(`transaction ${hash}: ${error ?? 'the node gave no trace'}`)
    const top = buildTree(result)
    const trace = (options: object): Promise<unknown> => rpc('debug_traceTransaction', hash, options)
    return { hash, index, gasLimit: Number(transaction.gas), gasUsed: top.gasUsed, top, subject: hash, trace }
  })
  return { block: Number(block.number), whole: block.hash, traced }
}

/** The transaction or the block of a word; a hash is that of a transaction where there is one. */
export async function tracesOf(rpc: RpcCall, given: string): Promise<Found> {
  if (given.length !== HASH_CHARACTERS) return wholeBlock(rpc, given)
  const isBlock = (await rpc('eth_getTransactionByHash', given)) === null && (await rpc('eth_getBlockByHash', given, false)) !== null
  return isBlock ? wholeBlock(rpc, given) : oneTransaction(rpc, given)
}

/** A call that is not mined. Its block is looked up first, so that every request sees one state. */
export async function calledOf(rpc: RpcCall, given: WhatIf): Promise<Found> {
  const block = await blockOf(rpc, given.block, false)
  const whatIf = { ...given, block: block.hash ?? given.block }
  const trace = (options: object): Promise<unknown> => rpc('debug_traceCall', ...traceCallOf(whatIf, options))
  const top = buildTree((await trace(TRACER)) as RawFrame)
  const { gas, gasUsed } = top
  return {
    block: Number(block.number),
    whole: undefined,
    traced: [{ hash: 'call', index: whatIf.index, gasLimit: gas, gasUsed, top, subject: steppedOf(whatIf), trace }],
  }
}
