// Which operations an upstream can answer in place of the core, and how they are sent to it.
import type { BlockRef, CallBundle, JsonObject, Operations, StepsArguments, StreamOperations } from '../core/port.ts'

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

/** The pool, of which a node that follows has none. */
const ofPool = <A>(method: string, params: (args: A) => readonly unknown[] = () => []): PassedOn<A> =>
  at(method, 'state', () => 'pending', params)

/** Operations that a node without any state passes on. */
export const FOLLOWED_READS: { readonly [Op in keyof Operations]?: PassedOn<Operations[Op]> } = {
  ...READS,
  getProof: at(
    'eth_getProof',
    'state',
    (a) => a.block,
    (a, b) => [a.address, a.slots.map(({ slot, whole }) => (whole ? slot : `0x${BigInt(slot).toString(16)}`)), b],
  ),
  getStorageValues: at(
    'eth_getStorageValues',
    'state',
    (a) => a.block,
    (a, b) => [a.requests, b],
  ),
  simulateV1: at(
    'eth_simulateV1',
    'state',
    (a) => a.block,
    (a, b) => [a.options, b],
  ),
  storageRangeAt: at(
    'debug_storageRangeAt',
    'state',
    (a) => a.block,
    (a, b) => [b, Number(a.txIndex), a.address, a.keyStart, Number(a.maxResult)],
  ),
  fillTransaction: ofPool('eth_fillTransaction', (a) => [a.transaction]),
  intermediateRoots: at(
    'debug_intermediateRoots',
    'state',
    (a) => ({ blockHash: a.hash }),
    (a) => [a.hash],
  ),
  getRawTransactionByIndex: at(
    'eth_getRawTransactionByBlockNumberAndIndex',
    'content',
    (a) => a.block,
    (a, b) => [b, a.index],
  ),
  getHeaderByNumber: at(
    'eth_getHeaderByNumber',
    'content',
    (a) => a.block,
    (_, b) => [b],
  ),
  getHeaderByHash: at(
    'eth_getHeaderByHash',
    'hash',
    (a) => ({ blockHash: a.hash }),
    (a) => [a.hash],
  ),
  txpoolStatus: ofPool('txpool_status'),
  txpoolContent: ofPool('txpool_content'),
  txpoolInspect: ofPool('txpool_inspect'),
  txpoolContentFrom: ofPool('txpool_contentFrom', (a) => [a.address]),
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

/** Traces that a node without any state passes on. */
export const FOLLOWED_TRACES: { readonly [Op in keyof StreamOperations]?: PassedOn<StreamOperations[Op]> } = {
  ...TRACES,
  traceBlock: at('debug_traceBlock', 'hash', none, (a) => trimmed([a.rlp, a.config])),
  traceCallMany: at(
    'debug_traceCallMany',
    'state',
    (a) => a.block,
    (a, block) => {
      const { bundles, transactionIndex, stateOverrides, blockOverrides, config } = a
      const list = bundles.map(({ transactions, stateOverrides, ...block }) =>
        trimmedObject({ transactions, stateOverrides, blockOverride: blockOverride(block) }),
      )
      const context = trimmedObject({ blockNumber: block, transactionIndex })
      return [list, context, trimmedObject({ ...config, stateOverrides, blockOverrides })]
    },
  ),
  parityCalls: at('trace_call', 'state', ({ block }) => block, parityParams),
}

/** The block of a bundle, with the hashes that it overrides; undefined for none. */
function blockOverride({ blockOverrides, blockHashes }: Pick<CallBundle, 'blockOverrides' | 'blockHashes'>): JsonObject | undefined {
  if (blockHashes.length === 0) return blockOverrides
  return { ...blockOverrides, blockHash: Object.fromEntries(blockHashes) }
}

/**
 * The method of a call of the namespace trace: of several calls, of a signed transaction, of one
 * call.
 */
export function parityMethod({ calls, list }: StreamOperations['parityCalls']): string {
  if (list) return 'trace_callMany'
  return calls[0]?.raw === undefined ? 'trace_call' : 'trace_rawTransaction'
}

function parityParams({ calls, list }: StreamOperations['parityCalls'], block: BlockRef): readonly unknown[] {
  if (list) return [calls.map(({ transaction, types }) => [transaction, types]), block]
  const [call] = calls
  return call?.raw === undefined ? [call?.transaction, call?.types, block] : [call.raw, call.types]
}

const trimmedObject = (o: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(o).filter(([, value]) => value !== undefined))
