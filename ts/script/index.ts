// Hearth in a script: a node in the process, typed.
export type { BakeReport } from '../core/bake.ts'
export type { Mode } from '../core/config.ts'
export type { JobProgress } from '../core/jobs.ts'
export type { DevAccount } from '../core/native.ts'
export type { HomeStatus, JsonObject } from '../core/port.ts'
export type { HookedResult } from '../hooks/index.ts'
export type { AbortOptions, AbortOptions as Patience } from './abort-options.ts'
export type {
  AccountOverride,
  BlockOverride,
  Bundle,
  CallOptions,
  CallRequest,
  Overrides,
  SimulatedBlock,
  SimulatedCall,
  SimulatedLog,
  SimulatedResult,
  SimulateOptions,
} from './call.ts'
export {
  ArgumentError,
  ClosedError,
  ExecutionError,
  HearthError,
  HomeError,
  HomeInUseError,
  InternalError,
  LimitError,
  NotFoundError,
  NotRetainedError,
  ReadOnlyError,
  ReorgError,
  RevertError,
  StoreError,
  TimeoutError,
  TraceError,
  TracerFunctionError,
} from './errors.ts'
export {
  type BakeHeights,
  type BakeOptions,
  createDevNode,
  type DevNode,
  type DevNodeOptions,
  type GivenSettings,
  HearthNode,
  type Listening,
  type ListenOptions,
  type OpenOptions,
  openNode,
} from './node.ts'
export { type Provider, type ProviderListener, type ProviderMessage, type ProviderRequest, ProviderRpcError } from './provider.ts'
export type { AccessListEntry, Authorization, Block, Transaction, Withdrawal } from './reading/blocks.ts'
export type { BlockId, ChainRange, LogOptions, RangeOptions } from './reading/chain.ts'
export type { Log, Receipt } from './reading/logs.ts'
export { Rows } from './reading/rows.ts'
export { type Account, State, type StateOptions } from './reading/state.ts'
export type { Replayed, ReplayOptions } from './replay.ts'
export type { DataDb, Kv, KvOptions, KvRow, NodeTable } from './tables.ts'
export type * from './trace/results.ts'
export { Steps } from './trace/steps.ts'
export type { InBlock, Trace, Traced, TraceOptions, TraceTarget, WholeBlock } from './trace/trace.ts'
export type { AnyData, AnyQuantity, BlockPlace, Data, Form, Hex } from './values.ts'
