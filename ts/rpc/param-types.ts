// The types of parameters, for docs/rpc.md: what each codec takes.
import * as codecs from './codec/index.ts'
import type { Method, Param } from './method.ts'

/** The types that the page explains once, in a table of their own. */
export const TYPES: Readonly<Record<string, string>> = {
  address: '20 bytes in hex',
  block: 'a height in hex, or `latest`, `pending`, `safe`, `finalized`, `earliest`',
  'block or hash': 'a block, its hash, or `{blockNumber}`, or `{blockHash, requireCanonical}`',
  boolean: '`true` or `false`',
  data: 'bytes in hex',
  hash: '32 bytes in hex',
  number: 'hex or decimal, as text or as a JSON number',
  object: 'a JSON object; the description names its members',
  quantity: 'a number in hex, without leading zeros',
  text: 'a JSON string',
  transaction:
    '`{from, to, gas, gasPrice, maxFeePerGas, maxPriorityFeePerGas, value, nonce, data or input, accessList, chainId, maxFeePerBlobGas, blobVersionedHashes, authorizationList}`, each optional',
  'trace options': 'see [options of traces](#options-of-traces)',
}

const BY_CODEC: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [codecs.address, 'address'],
  [codecs.anything, 'any'],
  [codecs.blockInterval, 'number'],
  [codecs.blockNumber, 'block'],
  [codecs.blockOverrides, 'object'],
  [codecs.blockRef, 'block or hash'],
  [codecs.boolean, 'boolean'],
  [codecs.bundles, '`{transactions, blockOverride, stateOverrides}`[]'],
  [codecs.callConfig, 'trace options'],
  [codecs.callContext, '`{blockNumber, transactionIndex}`'],
  [codecs.clientMethods, 'text[]'],
  [codecs.data, 'data'],
  [codecs.engineAttributes, '`PayloadAttributes`'],
  [codecs.executionPayload, '`ExecutionPayload`'],
  [codecs.executionRequests, 'data[]'],
  [codecs.filter, '`{fromBlock, toBlock, blockHash, address, topics}`'],
  [codecs.forkchoiceState, '`ForkchoiceState`'],
  [codecs.hash, 'hash'],
  [codecs.hashes, 'hash[]'],
  [codecs.heightOrHash, 'block, hash or number'],
  [codecs.heightOrTag, 'block or number'],
  [codecs.heightOrZero, 'quantity or number'],
  [codecs.hexOrDecimal, 'number'],
  [codecs.indexOptions, '`{timeout}`'],
  [codecs.mineOptions, '`{timestamp, blocks}` or number'],
  [codecs.number64, 'number'],
  [codecs.number256, 'number'],
  [codecs.object, 'object'],
  [codecs.pageNumber, 'number'],
  [codecs.pageSize, 'number'],
  [codecs.payloadAttributes, '`PayloadAttributes`'],
  [codecs.payloadId, '8 bytes'],
  [codecs.profileOptions, '`{by, marks, timeout}`'],
  [codecs.rangeOptions, '`{from, to, frame, own, fields, stackTop, memory, timeout}`'],
  [codecs.rawTransactions, 'data[]'],
  [codecs.reorgPairs, '[transaction or data, number][]'],
  [codecs.resetOptions, '`{forking: {jsonRpcUrl, blockNumber}}`'],
  [codecs.searchOptions, '`{from, backwards, count, where, timeout}`'],
  [codecs.simulation, '`{blockStateCalls, validation, traceTransfers, returnFullTransactions}`'],
  [codecs.stateOverrides, '`{address: {balance, nonce, code, state, stateDiff, movePrecompileToAddress}}`'],
  [codecs.stepsOf, 'hash, or `{transaction, block, txIndex, stateOverrides, blockOverrides}`'],
  [codecs.stepsOrBlock, 'hash, `{block}`, or `{transaction, block, txIndex, stateOverrides, blockOverrides}`'],
  [codecs.storageKey, 'hash'],
  [codecs.traceAddress, 'quantity[]'],
  [codecs.traceConfig, 'trace options'],
  [codecs.traceFilter, '`{fromBlock, toBlock, fromAddress, toAddress, after, count, mode}`'],
  [codecs.traceTypes, '`trace`, `stateDiff`, `vmTrace`: a list'],
  [codecs.transaction, 'transaction'],
  [codecs.typedCalls, '[transaction, types][]'],
  [codecs.uint64, 'quantity'],
  [codecs.url, 'text'],
  [codecs.witnessMode, '`canonical` or `legacy`'],
  [codecs.word, 'text'],
  [codecs.word256, 'hash or number'],
])

/** Parameters whose codec is their method's own. */
const BY_NAME: Readonly<Record<string, string>> = {
  'debug_storageRangeAt.keyStart': 'data',
  'debug_storageRangeAt.maxResult': 'number',
  'eth_feeHistory.rewardPercentiles': 'JSON number[]',
  'eth_getProof.storageKeys': 'hash[]',
  'eth_getStorageValues.requests': '`{address: hash[]}`',
  'eth_newFilter.filter': '`{fromBlock, toBlock, address, topics}`',
}

/** The type of a parameter; undefined where it is in neither table. */
export const typeOf = (method: Pick<Method, 'name'>, param: Param<unknown>): string | undefined =>
  BY_CODEC.get(param.codec) ?? BY_NAME[`${method.name}.${param.name}`]
