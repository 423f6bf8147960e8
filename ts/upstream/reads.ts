// Which operations an upstream can answer in place of the core, and how they are sent to it.
import type { BlockRef, Operations, StepsArguments, StreamOperations } from '../core/port.ts'

/**
 * What an operation is about. `content`: blocks by number or tag, their transactions and receipts.
 * `state`: accounts and calls at a block. `hash`: something found by its hash, wherever it is.
 */
type About = 'content' | 'state' | 'hash'

/** How an operation is sent to the remote node. */
export interface PassedOn<Args> {
  readonly method: string
  readonly about: About
  /** The block, or the hash of a block, that it is about. */
  readonly block: (args: Args) => BlockRef | undefined
  /** The parameters, with this block in place of the one given. */
  readonly params: (args: Args, block: BlockRef) => readonly unknown[]
}

const at = <A>(
  method: string,
  about: About,
  block: (args: A) => BlockRef | undefined,
  params: (args: A, block: BlockRef) => readonly unknown[],
): PassedOn<A> => ({ method, about, block, params })

/** Parameters without those at the end that are absent. */
export function trimmed(params: readonly unknown[]): readonly unknown[] {
  const last = params.findLastIndex((param) => param !== undefined)
  return params.slice(0, last + 1).map((param) => param ?? null)
}

const none = (): undefined => undefined

/** Operations that are passed on. */
export const READS: { readonly [Op in keyof Operations]?: PassedOn<Operations[Op]> } = {
  getBalance: at(
    'eth_getBalance',
    'state',
    (a) => a.block,
    (a, b) => [a.address, b],
  ),
  getCode: at(
    'eth_getCode',
    'state',
    (a) => a.block,
    (a, b) => [a.address, b],
  ),
  getStorageAt: at(
    'eth_getStorageAt',
    'state',
    (a) => a.block,
    (a, b) => [a.address, a.slot, b],
  ),
  getTransactionCount: at(
    'eth_getTransactionCount',
    'state',
    (a) => a.block,
    (a, b) => [a.address, b],
  ),
  // Of the state that the block's header commits to: that of the block that the fork begins after
  // is the origin's.
  getProof: at(
    'eth_getProof',
    'content',
    (a) => a.block,
    // An answer names a slot in the form of the request.
    (a, b) => [a.address, a.slots.map(({ slot, whole }) => (whole ? slot : `0x${BigInt(slot).toString(16)}`)), b],
  ),
  call: at(
    'eth_call',
    'state',
    (a) => a.block,
    (a, b) => trimmed([a.transaction, b, a.stateOverrides, a.blockOverrides]),
  ),
  estimateGas: at(
    'eth_estimateGas',
    'state',
    (a) => a.block,
    (a, b) => trimmed([a.transaction, b, a.stateOverrides, a.blockOverrides]),
  ),
  createAccessList: at(
    'eth_createAccessList',
    'state',
    (a) => a.block,
    (a, b) => trimmed([a.transaction, b, a.stateOverrides]),
  ),
  feeHistory: at(
    'eth_feeHistory',
    'content',
    (a) => a.newestBlock,
    (a, b) => [a.blockCount, b, a.rewardPercentiles],
  ),
  getBlockByNumber: at(
    'eth_getBlockByNumber',
    'content',
    (a) => a.block,
    (a, b) => [b, a.full],
  ),
  getBlockByHash: at(
    'eth_getBlockByHash',
    'hash',
    (a) => ({ blockHash: a.hash }),
    (a) => [a.hash, a.full],
  ),
  getBlockTransactionCountByNumber: at(
    'eth_getBlockTransactionCountByNumber',
    'content',
    (a) => a.block,
    (_, b) => [b],
  ),
  getBlockTransactionCountByHash: at(
    'eth_getBlockTransactionCountByHash',
    'hash',
    (a) => ({ blockHash: a.hash }),
    (a) => [a.hash],
  ),
  getBlockReceipts: at(
    'eth_getBlockReceipts',
    'content',
    (a) => a.block,
    (_, b) => [b],
  ),
  getTransactionByHash: at('eth_getTransactionByHash', 'hash', none, (a) => [a.hash]),
  getTransactionReceipt: at('eth_getTransactionReceipt', 'hash', none, (a) => [a.hash]),
  getTransactionByBlockNumberAndIndex: at(
    'eth_getTransactionByBlockNumberAndIndex',
    'content',
    (a) => a.block,
    (a, b) => [b, a.index],
  ),
  getTransactionByBlockHashAndIndex: at(
    'eth_getTransactionByBlockHashAndIndex',
    'hash',
    (a) => ({ blockHash: a.hash }),
    (a) => [a.hash, a.index],
  ),
  storageRangeAt: at(
    'debug_storageRangeAt',
    'content',
    (a) => a.block,
    (a, b) => [b, Number(a.txIndex), a.address, a.keyStart, Number(a.maxResult)],
  ),
  getRawBlock: at(
    'debug_getRawBlock',
    'content',
    (a) => a.block,
    (_, b) => [b],
  ),
  getRawHeader: at(
    'debug_getRawHeader',
    'content',
    (a) => a.block,
    (_, b) => [b],
  ),
  getRawReceipts: at(
    'debug_getRawReceipts',
    'content',
    (a) => a.block,
    (_, b) => [b],
  ),
  getRawTransaction: at('debug_getRawTransaction', 'hash', none, (a) => [a.hash]),
}

/** Steps of a transaction, call or block. What is not here is requested from the origin. */
const ofSteps = (method: string): PassedOn<StepsArguments> =>
  at(
    method,
    'hash',
    ({ call, block }) => call?.block ?? block,
    ({ hash, call, options, config }, block) => {
      const of = call === undefined ? { block } : trimmedObject({ ...call, block })
      return [hash ?? of, trimmedObject({ ...options, timeout: config.timeout })]
    },
  )

/** Traces that are passed on. */
export const TRACES: { readonly [Op in keyof StreamOperations]?: PassedOn<StreamOperations[Op]> } = {
  traceTransaction: at('debug_traceTransaction', 'hash', none, (a) => trimmed([a.hash, a.config])),
  traceBlockByNumber: at(
    'debug_traceBlockByNumber',
    'content',
    (a) => a.block,
    (a, b) => trimmed([b, a.config]),
  ),
  traceBlockByHash: at(
    'debug_traceBlockByHash',
    'hash',
    (a) => ({ blockHash: a.hash }),
    (a) => trimmed([a.hash, a.config]),
  ),
  traceStepIndex: ofSteps('debug_traceStepIndex'),
  traceSteps: ofSteps('debug_traceSteps'),
  traceStepSearch: ofSteps('debug_traceStepSearch'),
  traceGasProfile: ofSteps('debug_traceGasProfile'),
  traceCall: at(
    'debug_traceCall',
    'state',
    (a) => a.block,
    (a, b) => {
      const { txIndex, stateOverrides, blockOverrides, config } = a
      return [a.transaction, b, trimmedObject({ ...config, txIndex, stateOverrides, blockOverrides })]
    },
  ),
}

const trimmedObject = (o: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(o).filter(([, value]) => value !== undefined))
