// The codecs of parameters.
export { blockNumber, blockRef } from './block.ts'
export { allWithinLimits, blockOverrides, type OverrideLimits, stateOverrides, transaction, withinLimits } from './call.ts'
export { anything, arrayOf, BadValue, boolean, type Codec, fields, kindOf, mapOf, object, word } from './codec.ts'
export {
  blockInterval,
  type MineOptions,
  mineOptions,
  number64,
  number256,
  type ReorgPair,
  reorgPairs,
  resetOptions,
  url,
  word256,
} from './dev.ts'
export { clientMethods, engineAttributes, executionPayload, executionRequests, forkchoiceState, hashes, payloadId } from './engine.ts'
export { filter, followable } from './filter.ts'
export { address, data, hash, hexOrDecimal, storageKey, uint64, uint256 } from './hex.ts'
export {
  heightOrHash,
  heightOrTag,
  heightOrZero,
  pageNumber,
  pageSize,
  traceAddress,
  traceFilter,
  traceTypes,
  typedCalls,
} from './parity.ts'
export { payloadAttributes, rawTransactions } from './payload.ts'
export { type Simulation, simulation } from './simulate.ts'
export { indexOptions, profileOptions, rangeOptions, type StepOptions, searchOptions, stepsOf, stepsOrBlock } from './steps.ts'
export { mayTrace, type TraceRules, traceConfig, underRules } from './trace.ts'
export { bundles, callConfig, callContext, transactionIndex } from './trace-call.ts'
export { CALL_OPTIONS } from './trace-options.ts'
export { witnessMode } from './witness.ts'
