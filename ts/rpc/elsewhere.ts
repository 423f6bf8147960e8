// Methods that a node which follows another one passes on, since they need state or blocks that it
// does not hold. The unit tests compare the names with the table in ts/upstream.
import { FORWARDED_METHODS } from './submission.ts'

/** Header that says how well what the answer is made from was checked. */
export const VERIFIED_HEADER = 'x-hearth-verified'

/** Every value of `x-hearth-verified`, and when it comes. */
export const VERIFIED = {
  proven: 'The blocks of this node were executed on values that were proven, up to the state root.',
  executed:
    'Blocks of this node were executed on values that nothing proved; gas, receipts and logs match their headers (`follow.verify`).',
  upstream: 'The answer is that of the node that is followed, and nothing of it was checked.',
} as const

/** A value of the header. */
export type VerifiedBy = keyof typeof VERIFIED

/** Methods that are passed on. */
export const PASSED_ON_METHODS = [
  'debug_getRawBlock',
  'debug_getRawHeader',
  'debug_getRawReceipts',
  'debug_getRawTransaction',
  'debug_intermediateRoots',
  'debug_storageRangeAt',
  'debug_traceBlock',
  'debug_traceBlockByHash',
  'debug_traceBlockByNumber',
  'debug_traceCall',
  'debug_traceCallMany',
  'debug_traceGasProfile',
  'debug_traceStepIndex',
  'debug_traceStepSearch',
  'debug_traceSteps',
  'debug_traceTransaction',
  'eth_call',
  'eth_createAccessList',
  'eth_estimateGas',
  'eth_feeHistory',
  'eth_fillTransaction',
  'eth_getBalance',
  'eth_getBlockByHash',
  'eth_getBlockByNumber',
  'eth_getBlockReceipts',
  'eth_getBlockTransactionCountByHash',
  'eth_getBlockTransactionCountByNumber',
  'eth_getCode',
  'eth_getHeaderByHash',
  'eth_getHeaderByNumber',
  'eth_getLogs',
  'eth_getProof',
  'eth_getRawTransactionByBlockNumberAndIndex',
  'eth_getStorageAt',
  'eth_getStorageValues',
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionByBlockNumberAndIndex',
  'eth_getTransactionByHash',
  'eth_getTransactionReceipt',
  'eth_simulateV1',
  'trace_call',
  'trace_callMany',
  'trace_rawTransaction',
  'txpool_content',
  'txpool_contentFrom',
  'txpool_inspect',
  'txpool_status',
] as const

/** The name of one of them. */
export type PassedOnMethod = (typeof PASSED_ON_METHODS)[number]

/** Every method that may go to another node: values of the label `endpoint`. */
export const ELSEWHERE_METHODS = [...FORWARDED_METHODS, ...PASSED_ON_METHODS] as const
