// The types of results and the errors of methods, for docs/rpc.md. Errors that every method may
// return are on the page once.

/** Result types, each with the methods that return it. */
const RESULTS: readonly (readonly [type: string, methods: string])[] = [
  ['address', 'eth_coinbase chain_getEVMAddress'],
  ['address[]', 'eth_accounts eth_requestAccounts'],
  [
    'boolean',
    'hardhat_mine net_listening eth_uninstallFilter eth_unsubscribe debug_unsubscribe ots_hasCode evm_revert anvil_revert anvil_setStorageAt hardhat_setStorageAt evm_setBlockGasLimit anvil_setBlockGasLimit anvil_getAutomine hardhat_getAutomine anvil_removeBlockTimestampInterval hardhat_removeBlockTimestampInterval anvil_loadState hardhat_loadState hardhat_dropTransaction hardhat_intervalMine hardhat_addCompilationResult',
  ],
  ['`false`, or an object of progress', 'eth_syncing'],
  [
    'quantity',
    'eth_baseFee eth_blobBaseFee eth_blockNumber eth_chainId eth_estimateGas eth_gasPrice eth_maxPriorityFeePerGas eth_getBalance eth_getTransactionCount net_peerCount evm_snapshot anvil_snapshot evm_mine',
  ],
  [
    'quantity, or `null` for an unknown block',
    'eth_getBlockTransactionCountByHash eth_getBlockTransactionCountByNumber eth_getUncleCountByBlockHash eth_getUncleCountByBlockNumber',
  ],
  [
    'number',
    'ots_getApiLevel anvil_getGenesisTime hardhat_getStackTraceFailuresCount evm_increaseTime anvil_increaseTime evm_setTime anvil_setTime',
  ],
  ['number of seconds, or `null`', 'anvil_getIntervalMining'],
  ['text', 'net_version web3_clientVersion chain_getChainAddress chain_getCosmosTx'],
  ['hash', 'web3_sha3 eth_sendTransaction eth_sendRawTransaction eth_sendUnsignedTransaction eth_getStorageAt'],
  ['hash, or `null`', 'ots_getTransactionBySenderAndNonce anvil_dropTransaction'],
  ['hash[]', 'debug_intermediateRoots'],
  ['data', 'eth_call eth_getCode debug_codeByHash ots_getTransactionError anvil_dumpState hardhat_dumpState'],
  [
    'data, `0x` for an unknown block or transaction',
    'debug_getRawBlock debug_getRawHeader debug_getRawTransaction eth_getRawTransactionByHash eth_getRawTransactionByBlockHashAndIndex eth_getRawTransactionByBlockNumberAndIndex',
  ],
  ['data[]', 'debug_getRawReceipts'],
  ['65 bytes in hex', 'eth_sign personal_sign eth_signTypedData eth_signTypedData_v3 eth_signTypedData_v4'],
  [
    'text: the id of the filter or subscription',
    'eth_newFilter eth_newBlockFilter eth_newPendingTransactionFilter eth_subscribe debug_subscribe',
  ],
  ['block, or `null`', 'eth_getBlockByHash eth_getBlockByNumber'],
  [
    'header, or `null`',
    'eth_getHeaderByHash eth_getHeaderByNumber erigon_getHeaderByNumber eth_getUncleByBlockHashAndIndex eth_getUncleByBlockNumberAndIndex',
  ],
  [
    'transaction, or `null`',
    'eth_getTransactionByHash eth_getTransactionByBlockHashAndIndex eth_getTransactionByBlockNumberAndIndex eth_getTransactionBySenderAndNonce',
  ],
  ['receipt, or `null`', 'eth_getTransactionReceipt chain_getTransactionReceipt'],
  ['receipt', 'eth_sendRawTransactionSync eth_sendTransactionSync'],
  ['receipt[], or `null`', 'eth_getBlockReceipts'],
  ['log[]', 'eth_getLogs eth_getFilterLogs'],
  ['log[] or hash[], by the kind of the filter', 'eth_getFilterChanges'],
  ['`{accessList, gasUsed, error}`', 'eth_createAccessList'],
  ['`{oldestBlock, reward, baseFeePerGas, gasUsedRatio, baseFeePerBlobGas, blobGasUsedRatio}`', 'eth_feeHistory'],
  ['`{address, accountProof, balance, codeHash, nonce, storageHash, storageProof}`', 'eth_getProof'],
  ['`{address: hash[]}`', 'eth_getStorageValues'],
  ['`{nonce, balance, storageRoot, codeHash}`, or `null`', 'eth_getAccount'],
  ['`{balance, nonce, code}`', 'eth_getAccountInfo'],
  ['block[], each with `calls`', 'eth_simulateV1'],
  ['`{raw, tx}`', 'eth_fillTransaction eth_signTransaction'],
  ['`{current, next, last}`', 'eth_config'],
  ['`{head, state, …}`', 'eth_capabilities'],
  ['`{namespace: version}`', 'rpc_modules'],
  ['`{pending, queued}`', 'txpool_content txpool_contentFrom txpool_inspect txpool_status'],
  ['`{block, hash, rlp, …}`[]', 'debug_getBadBlocks'],
  ['`{storage, nextKey}`', 'debug_storageRangeAt'],
  ['trace of the [tracer](tracing.md#which-tracer-answers-which-question)', 'debug_traceTransaction debug_traceCall'],
  ['`{txHash, result or error}`[]', 'debug_traceBlock debug_traceBlockByHash debug_traceBlockByNumber debug_traceBadBlock'],
  ['a list of traces for each bundle', 'debug_traceCallMany'],
  ['`{trace, profile}`', 'debug_traceTransactionProfile'],
  ['`{accounts, writes, stats}`', 'debug_traceStateAccess'],
  ['`{steps, gasUsed, failed, every, marks, frames}`', 'debug_traceStepIndex'],
  ['`{steps, next}`', 'debug_traceSteps'],
  ['`{hits, next}`', 'debug_traceStepSearch'],
  ['`{by, steps, executionGas, stepsGas, codes, rows, stacks}`', 'debug_traceGasProfile'],
  ['text[]: the files', 'debug_standardTraceBlockToFile debug_standardTraceBadBlockToFile'],
  [
    '`{executionPayload, blockValue, …}`',
    'testing_buildBlockV1 engine_getPayloadV2 engine_getPayloadV3 engine_getPayloadV4 engine_getPayloadV5',
  ],
  ['trace[], or `null`', 'trace_block trace_transaction'],
  ['trace, or `null`', 'trace_get'],
  ['trace[]', 'trace_filter'],
  ['`{output, stateDiff, trace, vmTrace}`', 'trace_call trace_rawTransaction'],
  ['`{output, stateDiff, trace, vmTrace}`[]', 'trace_callMany'],
  ['`{output, stateDiff, trace, vmTrace, transactionHash}`, or `null`', 'trace_replayTransaction'],
  ['`{output, stateDiff, trace, vmTrace, transactionHash}`[]', 'trace_replayBlockTransactions'],
  ['`{block, issuance, totalFees}`, or `null`', 'ots_getBlockDetails ots_getBlockDetailsByHash'],
  ['`{fullblock, receipts}`', 'ots_getBlockTransactions'],
  ['`{txs, receipts, firstPage, lastPage}`', 'ots_searchTransactionsAfter ots_searchTransactionsBefore'],
  ['`{hash, creator}`, or `null`', 'ots_getContractCreator'],
  ['`{type, from, to, value}`[]', 'ots_getInternalOperations'],
  ['`{type, depth, from, to, value, input, output}`[]', 'ots_traceTransaction'],
  ['`{status, latestValidHash, validationError}`', 'engine_newPayloadV1 engine_newPayloadV2 engine_newPayloadV3 engine_newPayloadV4'],
  ['`{payloadStatus, payloadId}`', 'engine_forkchoiceUpdatedV1 engine_forkchoiceUpdatedV2 engine_forkchoiceUpdatedV3'],
  ['`ExecutionPayload`', 'engine_getPayloadV1'],
  ['blobs with proofs, `null` for unknown ones', 'engine_getBlobsV1 engine_getBlobsV2 engine_getBlobsV3'],
  ['`{transactions, withdrawals}`[]', 'engine_getPayloadBodiesByHashV1 engine_getPayloadBodiesByRangeV1'],
  ['`{code, name, version, commit}`[]', 'engine_getClientVersionV1'],
  ['text[]', 'engine_exchangeCapabilities'],
  ['block[]', 'evm_mine_detailed anvil_mine_detailed'],
  ['object: the head, the next block, the fork', 'anvil_nodeInfo'],
  ['object: version, chain, snapshots', 'anvil_metadata hardhat_metadata'],
  ['blobs, or `null`', 'anvil_getBlobsByTransactionHash anvil_getBlobByHash'],
  [
    'none: refused with the command to use',
    'debug_dbGet debug_dbAncient debug_dbAncients debug_chaindbProperty debug_chaindbCompact debug_setHead',
  ],
  [
    '`null`',
    'anvil_mine evm_setNextBlockTimestamp anvil_setNextBlockTimestamp hardhat_reset evm_setAccountNonce anvil_rollback anvil_reorg evm_setAutomine anvil_setAutomine evm_setIntervalMining anvil_setIntervalMining anvil_setBlockTimestampInterval hardhat_setBlockTimestampInterval anvil_setNextBlockBaseFeePerGas hardhat_setNextBlockBaseFeePerGas anvil_setMinGasPrice hardhat_setMinGasPrice anvil_setCoinbase hardhat_setCoinbase anvil_setChainId hardhat_setChainId hardhat_setPrevRandao anvil_setBalance hardhat_setBalance tenderly_setBalance anvil_addBalance hardhat_addBalance tenderly_addBalance anvil_setCode hardhat_setCode anvil_setNonce hardhat_setNonce anvil_dealERC20 anvil_setERC20Balance hardhat_dealERC20 tenderly_setErc20Balance anvil_setERC20Allowance anvil_impersonateAccount hardhat_impersonateAccount anvil_stopImpersonatingAccount hardhat_stopImpersonatingAccount anvil_autoImpersonateAccount hardhat_autoImpersonateAccount anvil_dropAllTransactions hardhat_dropAllTransactions anvil_removePoolTransactions anvil_reset anvil_setLoggingEnabled hardhat_setLoggingEnabled anvil_setRpcUrl hardhat_setRpcUrl',
  ],
]

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
    /^eth_(?:call|estimateGas|createAccessList|getBalance|getCode|getStorage\w+|getProof|getTransactionCount|getAccount\w*|feeHistory|simulateV1)$|^debug_(?:trace|storageRangeAt|intermediateRoots|getRaw[BHR])/,
  ],
  ['-32000 unknown tracer, timeout, or the tracer failed', /^debug_(?:standard)?[tT]race(?!StateAccess)/],
  ['-32005 range too large', /^eth_getLogs$|^eth_getFilterLogs$|^trace_filter$|^ots_searchTransactions/],
  ['-32602 no such block', /^trace_(?:replayBlock|call|raw|filter)/],
  ['-32000 filter not found', /^eth_(?:getFilter\w+)$/],
  ['-38010 to -38026, see [errors.md](errors.md)', /^eth_simulateV1$/],
  ['-38001 unknown payload', /^engine_getPayloadV/],
  ['-38002 invalid fork choice, -38003 invalid attributes, -38006 reorganisation too deep', /^engine_forkchoice/],
  ['-38004 too many', /^engine_get(?:Blobs|PayloadBodies)/],
  ['-38005 unsupported fork', /^engine_(?:newPayload|forkchoice|getPayloadV)/],
]

const types: ReadonlyMap<string, string> = new Map(
  RESULTS.flatMap(([type, methods]) => methods.split(' ').map((method) => [method, type] as const)),
)

/** The type of a method's result; undefined where the table has none. */
export const resultOf = (method: string): string | undefined => types.get(method)

/** The errors of a method beyond those of every method. */
export const errorsOf = (method: string): string[] => ERRORS.filter(([, methods]) => methods.test(method)).map(([error]) => error)

/** The methods of the table, for its test. */
export const methodsWithResult = (): string[] => [...types.keys()]
