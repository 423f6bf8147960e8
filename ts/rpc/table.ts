// Every method that this node has, listed by hand: nothing becomes an endpoint by accident.
import type { Method } from './method.ts'
import { chainTransactionReceipt } from './methods/chain/getTransactionReceipt.ts'
import { getBadBlocks } from './methods/debug/getBadBlocks.ts'
import { getRawBlock } from './methods/debug/getRawBlock.ts'
import { getRawHeader } from './methods/debug/getRawHeader.ts'
import { getRawReceipts } from './methods/debug/getRawReceipts.ts'
import { getRawTransaction } from './methods/debug/getRawTransaction.ts'
import { intermediateRoots } from './methods/debug/intermediateRoots.ts'
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
import { traceStateAccess } from './methods/debug/traceStateAccess.ts'
import { traceTransaction } from './methods/debug/traceTransaction.ts'
import { traceTransactionProfile } from './methods/debug/traceTransactionProfile.ts'
import { unsubscribe } from './methods/debug/unsubscribe.ts'
import { baseFee } from './methods/eth/baseFee.ts'
import { blobBaseFee } from './methods/eth/blobBaseFee.ts'
import { blockNumber } from './methods/eth/blockNumber.ts'
import { call } from './methods/eth/call.ts'
import { capabilities } from './methods/eth/capabilities.ts'
import { chainId } from './methods/eth/chainId.ts'
import { config } from './methods/eth/config.ts'
import { createAccessList } from './methods/eth/createAccessList.ts'
import { estimateGas } from './methods/eth/estimateGas.ts'
import { feeHistory } from './methods/eth/feeHistory.ts'
import { gasPrice } from './methods/eth/gasPrice.ts'
import { getBalance } from './methods/eth/getBalance.ts'
import { getBlockByHash } from './methods/eth/getBlockByHash.ts'
import { getBlockByNumber } from './methods/eth/getBlockByNumber.ts'
import { getBlockReceipts } from './methods/eth/getBlockReceipts.ts'
import { getBlockTransactionCountByHash } from './methods/eth/getBlockTransactionCountByHash.ts'
import { getBlockTransactionCountByNumber } from './methods/eth/getBlockTransactionCountByNumber.ts'
import { getCode } from './methods/eth/getCode.ts'
import { getLogs } from './methods/eth/getLogs.ts'
import { getProof } from './methods/eth/getProof.ts'
import { getStorageAt } from './methods/eth/getStorageAt.ts'
import { getStorageValues } from './methods/eth/getStorageValues.ts'
import { getTransactionByBlockHashAndIndex } from './methods/eth/getTransactionByBlockHashAndIndex.ts'
import { getTransactionByBlockNumberAndIndex } from './methods/eth/getTransactionByBlockNumberAndIndex.ts'
import { getTransactionByHash } from './methods/eth/getTransactionByHash.ts'
import { getTransactionCount } from './methods/eth/getTransactionCount.ts'
import { getTransactionReceipt } from './methods/eth/getTransactionReceipt.ts'
import { maxPriorityFeePerGas } from './methods/eth/maxPriorityFeePerGas.ts'
import { sendRawTransaction } from './methods/eth/sendRawTransaction.ts'
import { simulateV1 } from './methods/eth/simulateV1.ts'
import { syncing } from './methods/eth/syncing.ts'
import { version } from './methods/net/version.ts'
import { modules } from './methods/rpc/modules.ts'
import { content } from './methods/txpool/content.ts'
import { contentFrom } from './methods/txpool/contentFrom.ts'
import { inspect } from './methods/txpool/inspect.ts'
import { status } from './methods/txpool/status.ts'
import { clientVersion } from './methods/web3/clientVersion.ts'

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
  modules,
  chainTransactionReceipt,
]

/** The namespace of a method's name: what stands before the first underscore. */
export const namespaceOf = (name: string): string => name.slice(0, Math.max(0, name.indexOf('_')))

const names = new Set(METHODS.map((m) => m.name))

/** Whether a name is in the table, served or not. */
export const isMethod = (name: string): boolean => names.has(name)

/** The methods of the namespaces that are served, without those that are denied, by name. */
export function methodTable(namespaces: readonly string[], denied: readonly string[]): ReadonlyMap<string, Method> {
  const served = new Set(namespaces)
  return new Map(METHODS.filter((m) => served.has(namespaceOf(m.name)) && !denied.includes(m.name)).map((m) => [m.name, m]))
}
