// Every method that this node has, listed by hand: nothing becomes an endpoint by accident.
import { DEV_NAMESPACES as NAMESPACES_OF_DEV } from '../config/index.ts'
import { chainDisabled, methodNotFound } from './errors.ts'
import type { Method } from './method.ts'
import { chainAddress } from './methods/chain/getChainAddress.ts'
import { chainCosmosTx } from './methods/chain/getCosmosTx.ts'
import { chainEvmAddress } from './methods/chain/getEVMAddress.ts'
import { chainTransactionReceipt } from './methods/chain/getTransactionReceipt.ts'
import { chaindbCompactRefused } from './methods/debug/chaindbCompact.ts'
import { chaindbPropertyRefused } from './methods/debug/chaindbProperty.ts'
import { codeByHash } from './methods/debug/codeByHash.ts'
import { dbAncientRefused } from './methods/debug/dbAncient.ts'
import { dbAncientsRefused } from './methods/debug/dbAncients.ts'
import { dbGetRefused } from './methods/debug/dbGet.ts'
import { getBadBlocks } from './methods/debug/getBadBlocks.ts'
import { getRawBlock } from './methods/debug/getRawBlock.ts'
import { getRawHeader } from './methods/debug/getRawHeader.ts'
import { getRawReceipts } from './methods/debug/getRawReceipts.ts'
import { getRawTransaction } from './methods/debug/getRawTransaction.ts'
import { intermediateRoots } from './methods/debug/intermediateRoots.ts'
import { setHeadRefused } from './methods/debug/setHead.ts'
import { standardTraceBadBlockToFile } from './methods/debug/standardTraceBadBlockToFile.ts'
import { standardTraceBlockToFile } from './methods/debug/standardTraceBlockToFile.ts'
import { storageRangeAt } from './methods/debug/storageRangeAt.ts'
import { subscribe } from './methods/debug/subscribe.ts'
import { traceBadBlock } from './methods/debug/traceBadBlock.ts'
import { traceBlock } from './methods/debug/traceBlock.ts'
import { traceBlockByHash } from './methods/debug/traceBlockByHash.ts'
import { traceBlockByNumber } from './methods/debug/traceBlockByNumber.ts'
import { traceCall } from './methods/debug/traceCall.ts'
import { traceCallMany } from './methods/debug/traceCallMany.ts'
import { traceGasProfile } from './methods/debug/traceGasProfile.ts'
import { traceStateAccess } from './methods/debug/traceStateAccess.ts'
import { traceStepIndex } from './methods/debug/traceStepIndex.ts'
import { traceStepSearch } from './methods/debug/traceStepSearch.ts'
import { traceSteps } from './methods/debug/traceSteps.ts'
import { traceTransaction } from './methods/debug/traceTransaction.ts'
import { traceTransactionProfile } from './methods/debug/traceTransactionProfile.ts'
import { unsubscribe } from './methods/debug/unsubscribe.ts'
import { DEV_METHODS } from './methods/dev/index.ts'
import { ENGINE_METHODS } from './methods/engine/index.ts'
import { erigonHeaderByNumber } from './methods/erigon/getHeaderByNumber.ts'
import { accounts } from './methods/eth/accounts.ts'
import { baseFee } from './methods/eth/baseFee.ts'
import { blobBaseFee } from './methods/eth/blobBaseFee.ts'
import { blockNumber } from './methods/eth/blockNumber.ts'
import { call } from './methods/eth/call.ts'
import { capabilities } from './methods/eth/capabilities.ts'
import { chainId } from './methods/eth/chainId.ts'
import { coinbase } from './methods/eth/coinbase.ts'
import { config } from './methods/eth/config.ts'
import { createAccessList } from './methods/eth/createAccessList.ts'
import { estimateGas } from './methods/eth/estimateGas.ts'
import { feeHistory } from './methods/eth/feeHistory.ts'
import { fillTransaction } from './methods/eth/fillTransaction.ts'
import { gasPrice } from './methods/eth/gasPrice.ts'
import { getBalance } from './methods/eth/getBalance.ts'
import { getBlockByHash } from './methods/eth/getBlockByHash.ts'
import { getBlockByNumber } from './methods/eth/getBlockByNumber.ts'
import { getBlockReceipts } from './methods/eth/getBlockReceipts.ts'
import { getBlockTransactionCountByHash } from './methods/eth/getBlockTransactionCountByHash.ts'
import { getBlockTransactionCountByNumber } from './methods/eth/getBlockTransactionCountByNumber.ts'
import { getCode } from './methods/eth/getCode.ts'
import { getFilterChanges } from './methods/eth/getFilterChanges.ts'
import { getFilterLogs } from './methods/eth/getFilterLogs.ts'
import { getHeaderByHash } from './methods/eth/getHeaderByHash.ts'
import { getHeaderByNumber } from './methods/eth/getHeaderByNumber.ts'
import { getLogs } from './methods/eth/getLogs.ts'
import { getProof } from './methods/eth/getProof.ts'
import { getRawTransactionByBlockHashAndIndex } from './methods/eth/getRawTransactionByBlockHashAndIndex.ts'
import { getRawTransactionByBlockNumberAndIndex } from './methods/eth/getRawTransactionByBlockNumberAndIndex.ts'
import { getRawTransactionByHash } from './methods/eth/getRawTransactionByHash.ts'
import { getStorageAt } from './methods/eth/getStorageAt.ts'
import { getStorageValues } from './methods/eth/getStorageValues.ts'
import { getTransactionByBlockHashAndIndex } from './methods/eth/getTransactionByBlockHashAndIndex.ts'
import { getTransactionByBlockNumberAndIndex } from './methods/eth/getTransactionByBlockNumberAndIndex.ts'
import { getTransactionByHash } from './methods/eth/getTransactionByHash.ts'
import { getTransactionCount } from './methods/eth/getTransactionCount.ts'
import { getTransactionReceipt } from './methods/eth/getTransactionReceipt.ts'
import { getUncleByBlockHashAndIndex } from './methods/eth/getUncleByBlockHashAndIndex.ts'
import { getUncleByBlockNumberAndIndex } from './methods/eth/getUncleByBlockNumberAndIndex.ts'
import { getUncleCountByBlockHash } from './methods/eth/getUncleCountByBlockHash.ts'
import { getUncleCountByBlockNumber } from './methods/eth/getUncleCountByBlockNumber.ts'
import { maxPriorityFeePerGas } from './methods/eth/maxPriorityFeePerGas.ts'
import { newBlockFilter } from './methods/eth/newBlockFilter.ts'
import { newFilter } from './methods/eth/newFilter.ts'
import { newPendingTransactionFilter } from './methods/eth/newPendingTransactionFilter.ts'
import { requestAccounts } from './methods/eth/requestAccounts.ts'
import { sendRawTransaction } from './methods/eth/sendRawTransaction.ts'
import { sendRawTransactionSync } from './methods/eth/sendRawTransactionSync.ts'
import { sendTransaction } from './methods/eth/sendTransaction.ts'
import { sign } from './methods/eth/sign.ts'
import { signTransaction } from './methods/eth/signTransaction.ts'
import { signTypedDataV1 } from './methods/eth/signTypedData.ts'
import { signTypedDataV3 } from './methods/eth/signTypedData_v3.ts'
import { signTypedDataV4 } from './methods/eth/signTypedData_v4.ts'
import { simulateV1 } from './methods/eth/simulateV1.ts'
import { ethSubscribe } from './methods/eth/subscribe.ts'
import { syncing } from './methods/eth/syncing.ts'
import { uninstallFilter } from './methods/eth/uninstallFilter.ts'
import { ethUnsubscribe } from './methods/eth/unsubscribe.ts'
import { listening } from './methods/net/listening.ts'
import { peerCount } from './methods/net/peerCount.ts'
import { version } from './methods/net/version.ts'
import { otsApiLevel } from './methods/ots/getApiLevel.ts'
import { otsBlockDetails } from './methods/ots/getBlockDetails.ts'
import { otsBlockDetailsByHash } from './methods/ots/getBlockDetailsByHash.ts'
import { otsBlockTransactions } from './methods/ots/getBlockTransactions.ts'
import { otsContractCreator } from './methods/ots/getContractCreator.ts'
import { otsInternalOperations } from './methods/ots/getInternalOperations.ts'
import { otsBySenderAndNonce } from './methods/ots/getTransactionBySenderAndNonce.ts'
import { otsTransactionError } from './methods/ots/getTransactionError.ts'
import { otsHasCode } from './methods/ots/hasCode.ts'
import { otsSearchAfter } from './methods/ots/searchTransactionsAfter.ts'
import { otsSearchBefore } from './methods/ots/searchTransactionsBefore.ts'
import { otsTraceTransaction } from './methods/ots/traceTransaction.ts'
import { personalSign } from './methods/personal/sign.ts'
import { modules } from './methods/rpc/modules.ts'
import { buildBlockV1 } from './methods/testing/buildBlockV1.ts'
import { traceBlockCalls } from './methods/trace/block.ts'
import { traceCallParts } from './methods/trace/call.ts'
import { traceCallManyParts } from './methods/trace/callMany.ts'
import { traceFilterCalls } from './methods/trace/filter.ts'
import { traceGet } from './methods/trace/get.ts'
import { traceRawTransaction } from './methods/trace/rawTransaction.ts'
import { traceReplayBlockTransactions } from './methods/trace/replayBlockTransactions.ts'
import { traceReplayTransaction } from './methods/trace/replayTransaction.ts'
import { traceTransactionCalls } from './methods/trace/transaction.ts'
import { content } from './methods/txpool/content.ts'
import { contentFrom } from './methods/txpool/contentFrom.ts'
import { inspect } from './methods/txpool/inspect.ts'
import { status } from './methods/txpool/status.ts'
import { clientVersion } from './methods/web3/clientVersion.ts'
import { sha3 } from './methods/web3/sha3.ts'

/** All methods, by namespace and name. */
export const METHODS: readonly Method[] = [
  baseFee,
  blobBaseFee,
  blockNumber,
  call,
  capabilities,
  chainId,
  config,
  createAccessList,
  estimateGas,
  feeHistory,
  gasPrice,
  getBalance,
  getBlockByHash,
  getBlockByNumber,
  getBlockReceipts,
  getBlockTransactionCountByHash,
  getBlockTransactionCountByNumber,
  getCode,
  getLogs,
  getProof,
  getStorageAt,
  getStorageValues,
  getTransactionByBlockHashAndIndex,
  getTransactionByBlockNumberAndIndex,
  getTransactionByHash,
  getTransactionCount,
  getTransactionReceipt,
  maxPriorityFeePerGas,
  sendRawTransaction,
  simulateV1,
  syncing,
  version,
  content,
  contentFrom,
  inspect,
  status,
  clientVersion,
  getRawBlock,
  getRawHeader,
  getRawReceipts,
  getRawTransaction,
  codeByHash,
  getBadBlocks,
  intermediateRoots,
  standardTraceBadBlockToFile,
  standardTraceBlockToFile,
  storageRangeAt,
  traceBadBlock,
  traceBlock,
  traceCall,
  traceCallMany,
  traceBlockByHash,
  traceBlockByNumber,
  traceTransaction,
  traceTransactionProfile,
  subscribe,
  unsubscribe,
  traceStateAccess,
  traceStepIndex,
  traceSteps,
  traceStepSearch,
  traceGasProfile,
  modules,
  chainTransactionReceipt,
  chainAddress,
  chainEvmAddress,
  chainCosmosTx,
  accounts,
  requestAccounts,
  coinbase,
  getHeaderByNumber,
  getHeaderByHash,
  getUncleCountByBlockNumber,
  getUncleCountByBlockHash,
  getUncleByBlockNumberAndIndex,
  getUncleByBlockHashAndIndex,
  getRawTransactionByHash,
  getRawTransactionByBlockNumberAndIndex,
  getRawTransactionByBlockHashAndIndex,
  fillTransaction,
  sendTransaction,
  signTransaction,
  sign,
  signTypedDataV1,
  signTypedDataV3,
  signTypedDataV4,
  sendRawTransactionSync,
  newFilter,
  newBlockFilter,
  newPendingTransactionFilter,
  getFilterChanges,
  getFilterLogs,
  uninstallFilter,
  ethSubscribe,
  ethUnsubscribe,
  personalSign,
  listening,
  peerCount,
  sha3,
  buildBlockV1,
  dbGetRefused,
  dbAncientRefused,
  dbAncientsRefused,
  chaindbPropertyRefused,
  chaindbCompactRefused,
  setHeadRefused,
  traceBlockCalls,
  traceCallParts,
  traceCallManyParts,
  traceFilterCalls,
  traceGet,
  traceRawTransaction,
  traceReplayBlockTransactions,
  traceReplayTransaction,
  traceTransactionCalls,
  otsApiLevel,
  otsBlockDetails,
  otsBlockDetailsByHash,
  otsBlockTransactions,
  otsContractCreator,
  otsInternalOperations,
  otsBySenderAndNonce,
  otsTransactionError,
  otsHasCode,
  otsSearchAfter,
  otsSearchBefore,
  otsTraceTransaction,
  erigonHeaderByNumber,
  ...ENGINE_METHODS,
  ...DEV_METHODS,
]

/** The namespace of a method's name: what stands before the first underscore. */
export const namespaceOf = (name: string): string => name.slice(0, Math.max(0, name.indexOf('_')))

const names = new Set(METHODS.map((m) => m.name))

/**
 * Whether a name is of the namespace `chain`, whatever its case: what is not known there is not
 * enabled.
 */
export const isLegacy = (name: string): boolean => (name.charCodeAt(0) | 0x20) === 0x63 && /^chain_/i.test(name)

/** Whether a name is in the table, served or not. */
export const isMethod = (name: string): boolean => names.has(name)

/** Namespaces of the development chain, which are always served there, and nowhere else. */
export const DEV_NAMESPACES: readonly string[] = NAMESPACES_OF_DEV

/** The namespaces of which a node serves methods, of those that it is to serve. */
export function servedNamespaces(namespaces: readonly string[], dev: boolean): readonly string[] {
  const common = namespaces.filter((name) => !DEV_NAMESPACES.includes(name))
  const known = new Set(METHODS.map((m) => namespaceOf(m.name)))
  return dev ? [...common, ...DEV_NAMESPACES.filter((name) => known.has(name))] : common
}

/**
 * The methods of the served namespaces, without denied ones, by name; with `only`, just those of
 * them.
 */
export function methodTable(
  namespaces: readonly string[],
  denied: readonly string[],
  only?: ReadonlySet<string>,
  legacy: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, Method> {
  const served = new Set(namespaces)
  const dev = DEV_NAMESPACES.some((name) => served.has(name))
  const isServed = (m: Method): boolean =>
    served.has(namespaceOf(m.name)) &&
    (!isLegacy(m.name) || legacy.has(m.name.toLowerCase())) &&
    (dev || !ofDev.has(m)) &&
    !denied.includes(m.name) &&
    only?.has(m.name) !== false
  return new Map(METHODS.filter(isServed).map((m) => [m.name, m]))
}

/**
 * The method of this name in a node's table; throws the error for one that the table does not have.
 */
export function servedMethod(table: ReadonlyMap<string, Method>, name: string): Method {
  const method = table.get(name)
  if (method !== undefined) return method
  throw isLegacy(name) ? chainDisabled(name) : methodNotFound(name)
}

const ofDev: ReadonlySet<Method> = new Set(DEV_METHODS)
