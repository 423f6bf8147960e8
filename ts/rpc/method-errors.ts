// The errors of methods, for docs/rpc.md. Errors that every method may return are on the page once.

/** Codes with their meaning, each with the methods that return it. */
const ERRORS: readonly (readonly [error: string, methods: RegExp])[] = [
  ['3 execution reverted', /^eth_(?:call|estimateGas|createAccessList|fillTransaction|sendTransaction)$/],
  [
    '-32000 an invalid call or transaction',
    /^eth_(?:call|estimateGas|createAccessList|fillTransaction|send\w+)$|^debug_traceCall|^trace_(?:call|raw)/,
  ],
  ['4 not mined in time', /^eth_send(?:Raw)?TransactionSync$/],
  [
    '-32000 no such block, or its state is pruned',
    /^eth_(?:call|estimateGas|createAccessList|getBalance|getCode|getStorage\w+|getProof|getTransactionCount|getAccount\w*|feeHistory|simulateV1)$|^debug_(?:trace|storageRangeAt|intermediateRoots|executionWitness|getRaw[BHR])/,
  ],
  ['-32000 unknown tracer, timeout, or the tracer failed', /^debug_trace(?!StateAccess)/],
  ['-32005 range too large', /^eth_getLogs$|^eth_getFilterLogs$|^trace_filter$|^ots_searchTransactions/],
  ['-32602 no such block', /^trace_(?:replayBlock|call|raw|filter)/],
  ['-32000 filter not found', /^eth_(?:getFilter\w+)$/],
  ['-38010 to -38026, see [errors.md](errors.md)', /^eth_simulateV1$/],
  ['-38001 unknown payload', /^engine_getPayloadV/],
  ['-38002 invalid fork choice, -38003 invalid attributes, -38006 reorganisation too deep', /^engine_forkchoice/],
  ['-38004 too many', /^engine_get(?:Blobs|PayloadBodies)/],
  ['-38005 unsupported fork', /^engine_(?:newPayload|forkchoice|getPayloadV)/],
]

/** The errors of a method beyond those of every method. */
export const errorsOf = (method: string): string[] => ERRORS.filter(([, methods]) => methods.test(method)).map(([error]) => error)
