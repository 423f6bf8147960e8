// The node for viem: a transport within this process, traces as actions of a client, and the types
// of their methods.
import { type Chain, type Client, type CustomTransport, custom, type Transport } from 'viem'
import type { BakeReport } from '../core/bake.ts'
import type { CallRequest, Overrides } from './call.ts'
import type { HearthNode } from './node.ts'
import { blockRef } from './reading/chain.ts'
import type { StructLogs, TraceResult, TracerConfig, TracerName } from './trace/results.ts'
import type { Traced } from './trace/trace.ts'
import type { BlockPlace, Hex } from './values.ts'
import { wire } from './values.ts'

/** What stands for a block in a request. */
export type RpcBlock =
  | Hex
  | 'latest'
  | 'earliest'
  | 'safe'
  | 'finalized'
  | 'pending'
  | { readonly blockHash: Hex; readonly requireCanonical?: boolean }

/** The second parameter of debug_traceTransaction. */
export interface RpcTraceConfig {
  /**
   * Name of a built-in tracer, or the source of one in JavaScript; the struct logger where absent.
   */
  readonly tracer?: string
  readonly tracerConfig?: unknown
  /** A duration such as `10s`. */
  readonly timeout?: string
  readonly [option: string]: unknown
}

/** The third parameter of debug_traceCall. */
export type RpcTraceCallConfig = RpcTraceConfig & {
  readonly txIndex?: Hex
  readonly stateOverrides?: object
  readonly blockOverrides?: object
}

/** Whose steps: a transaction's, or those of a call. */
export type RpcStepsOf = Hex | ({ readonly transaction: object; readonly block: RpcBlock } & Omit<RpcTraceCallConfig, keyof RpcTraceConfig>)

/** The form of a witness: headers as RLP, or as objects. */
export type WitnessMode = 'canonical' | 'legacy'

/** What a client without the state needs to execute a block. */
export interface RpcWitness {
  readonly state: readonly Hex[]
  readonly codes: readonly Hex[]
  readonly headers: readonly (Hex | object)[]
  readonly keys?: null
}

/** The methods of the namespace `debug`, for `rpcSchema<DebugRpcSchema>()` of viem. */
export type DebugRpcSchema = [
  { Method: 'debug_traceTransaction'; Parameters: [hash: Hex] | [hash: Hex, config: RpcTraceConfig]; ReturnType: unknown },
  {
    Method: 'debug_traceBlockByNumber'
    Parameters: [block: RpcBlock] | [block: RpcBlock, config: RpcTraceConfig]
    ReturnType: readonly Traced<unknown>[]
  },
  {
    Method: 'debug_traceBlockByHash'
    Parameters: [hash: Hex] | [hash: Hex, config: RpcTraceConfig]
    ReturnType: readonly Traced<unknown>[]
  },
  { Method: 'debug_traceBlock'; Parameters: [rlp: Hex] | [rlp: Hex, config: RpcTraceConfig]; ReturnType: readonly Traced<unknown>[] },
  { Method: 'debug_traceBadBlock'; Parameters: [hash: Hex] | [hash: Hex, config: RpcTraceConfig]; ReturnType: readonly Traced<unknown>[] },
  {
    Method: 'debug_traceCall'
    Parameters: [call: object, block: RpcBlock] | [call: object, block: RpcBlock, config: RpcTraceCallConfig]
    ReturnType: unknown
  },
  {
    Method: 'debug_traceCallMany'
    Parameters:
      | [bundles: readonly object[]]
      | [bundles: readonly object[], context: object | RpcBlock]
      | [bundles: readonly object[], context: object | RpcBlock, config: RpcTraceConfig]
    ReturnType: readonly (readonly unknown[])[]
  },
  { Method: 'debug_traceStateAccess'; Parameters: [hash: Hex]; ReturnType: unknown },
  { Method: 'debug_traceStepIndex'; Parameters: [of: RpcStepsOf] | [of: RpcStepsOf, options: { timeout?: string }]; ReturnType: unknown },
  { Method: 'debug_traceSteps'; Parameters: [of: RpcStepsOf, options: object]; ReturnType: unknown },
  { Method: 'debug_traceStepSearch'; Parameters: [of: RpcStepsOf, options: object]; ReturnType: unknown },
  {
    Method: 'debug_traceGasProfile'
    Parameters: [of: RpcStepsOf | { block: RpcBlock }] | [of: RpcStepsOf | { block: RpcBlock }, options: object]
    ReturnType: unknown
  },
  { Method: 'debug_traceTransactionProfile'; Parameters: [hash: Hex] | [hash: Hex, config: RpcTraceConfig]; ReturnType: unknown },
  { Method: 'debug_getRawBlock'; Parameters: [block: RpcBlock]; ReturnType: Hex },
  { Method: 'debug_getRawHeader'; Parameters: [block: RpcBlock]; ReturnType: Hex },
  { Method: 'debug_getRawReceipts'; Parameters: [block: RpcBlock]; ReturnType: readonly Hex[] },
  { Method: 'debug_getRawTransaction'; Parameters: [hash: Hex]; ReturnType: Hex },
  { Method: 'debug_codeByHash'; Parameters: [hash: Hex]; ReturnType: Hex | null },
  { Method: 'debug_getBadBlocks'; Parameters?: undefined; ReturnType: readonly object[] },
  { Method: 'debug_intermediateRoots'; Parameters: [hash: Hex]; ReturnType: readonly Hex[] },
  { Method: 'debug_executionWitness'; Parameters: [block: RpcBlock] | [block: RpcBlock, mode: WitnessMode]; ReturnType: RpcWitness },
  { Method: 'debug_executionWitnessByHash'; Parameters: [hash: Hex] | [hash: Hex, mode: WitnessMode]; ReturnType: RpcWitness },
  {
    Method: 'debug_storageRangeAt'
    Parameters: [block: RpcBlock, txIndex: number, address: Hex, keyStart: Hex, maxResult: number]
    ReturnType: { readonly storage: Readonly<Record<Hex, { readonly key: Hex | null; readonly value: Hex }>>; readonly nextKey: Hex | null }
  },
]

/** Methods that only the provider of a node in this process has. */
export type BakeRpcSchema = [{ Method: 'bake_blocks'; Parameters?: [from?: number, to?: number]; ReturnType: BakeReport }]

/** Both together, for `rpcSchema<HearthRpcSchema>()`. */
export type HearthRpcSchema = [...DebugRpcSchema, ...BakeRpcSchema]

/** A viem transport over a node of this process: all of viem's actions, without a socket. */
export function hearth(node: HearthNode): CustomTransport {
  // Calls within a process do not get lost, so none is repeated.
  return custom(node.provider, { key: 'hearth', name: 'Hearth', retryCount: 0 })
}

/** How to trace with a client. */
export interface TraceActionOptions<C> {
  /** The tracer's own options. */
  readonly config?: C | undefined
  /** Longest run of each transaction, in milliseconds. */
  readonly timeout?: number | undefined
}

/** How to trace a call with a client. */
export interface TraceCallOptions<C> extends TraceActionOptions<C>, Overrides {
  /** Default: the head. */
  readonly block?: BlockPlace | undefined
}

/**
 * Actions that trace, under built-in tracers whose result types follow from name and options. viem
 * wants no interface here.
 */
export type TraceActions = {
  traceTransaction<N extends TracerName, const C extends TracerConfig<N> = TracerConfig<N>>(
    hash: Hex,
    tracer: N,
    options?: TraceActionOptions<C>,
  ): Promise<N extends 'structLogs' ? StructLogs : TraceResult<N, C>>
  traceBlock<N extends TracerName, const C extends TracerConfig<N> = TracerConfig<N>>(
    block: BlockPlace,
    tracer: N,
    options?: TraceActionOptions<C>,
  ): Promise<readonly Traced<N extends 'structLogs' ? StructLogs : TraceResult<N, C>>[]>
  traceCall<N extends TracerName, const C extends TracerConfig<N> = TracerConfig<N>>(
    call: CallRequest,
    tracer: N,
    options?: TraceCallOptions<C>,
  ): Promise<N extends 'structLogs' ? StructLogs : TraceResult<N, C>>
}

function configOf(tracer: TracerName, { config, timeout }: TraceActionOptions<unknown>): RpcTraceConfig {
  const limit = timeout === undefined ? {} : { timeout: `${Math.ceil(timeout)}ms` }
  return tracer === 'structLogs'
    ? { ...(config as object | undefined), ...limit }
    : { tracer, ...(config === undefined ? {} : { tracerConfig: config }), ...limit }
}

/**
 * `client.extend(traceActions)`: works over every transport, also against a node that runs
 * elsewhere.
 */
export function traceActions<T extends Transport, C extends Chain | undefined>(client: Client<T, C>): TraceActions {
  const ask = client.request as (request: { method: string; params: unknown[] }) => Promise<unknown>
  const actions = {
    traceTransaction: (hash: Hex, tracer: TracerName, options: TraceActionOptions<unknown> = {}) =>
      ask({ method: 'debug_traceTransaction', params: [hash, configOf(tracer, options)] }),
    traceBlock: (block: BlockPlace, tracer: TracerName, options: TraceActionOptions<unknown> = {}) => {
      const ref = blockRef(block)
      const [method, of] = typeof ref === 'string' ? ['debug_traceBlockByNumber', ref] : ['debug_traceBlockByHash', ref.blockHash]
      return ask({ method: method as string, params: [of, configOf(tracer, options)] })
    },
    traceCall: (call: CallRequest, tracer: TracerName, options: TraceCallOptions<unknown> = {}) => {
      const { block = 'latest', stateOverrides, blockOverrides } = options
      const config = { ...configOf(tracer, options), ...(wire({ stateOverrides, blockOverrides }) as object) }
      return ask({ method: 'debug_traceCall', params: [wire(call), blockRef(block), config] })
    },
  }
  return actions as TraceActions
}
