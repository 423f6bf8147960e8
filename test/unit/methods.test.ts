import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { NAMESPACES } from '../../ts/config/index.ts'
import { DEV_METHODS } from '../../ts/rpc/methods/dev/index.ts'
import { ENGINE_METHODS } from '../../ts/rpc/methods/engine/index.ts'
import { DEV_NAMESPACES, METHODS, methodTable, namespaceOf, servedNamespaces } from '../../ts/rpc/table.ts'

const DIR = path.resolve(import.meta.dirname, '../../ts/rpc/methods')

/** What this release promises, by namespace. */
const PROMISED = {
  eth: `blockNumber chainId syncing gasPrice maxPriorityFeePerGas feeHistory baseFee blobBaseFee getBalance getCode getProof getStorageAt
    getTransactionCount getBlockByHash getBlockByNumber getBlockTransactionCountByHash getBlockTransactionCountByNumber getBlockReceipts
    getTransactionByHash getTransactionByBlockHashAndIndex getTransactionByBlockNumberAndIndex getTransactionReceipt getLogs call
    estimateGas sendRawTransaction simulateV1 createAccessList getStorageValues config capabilities accounts requestAccounts coinbase
    getHeaderByNumber getHeaderByHash getUncleCountByBlockNumber getUncleCountByBlockHash getUncleByBlockNumberAndIndex
    getUncleByBlockHashAndIndex getRawTransactionByHash getRawTransactionByBlockNumberAndIndex getRawTransactionByBlockHashAndIndex
    fillTransaction sendTransaction signTransaction sign signTypedData signTypedData_v3 signTypedData_v4 sendRawTransactionSync
    newFilter newBlockFilter newPendingTransactionFilter getFilterChanges getFilterLogs uninstallFilter subscribe unsubscribe
    sendUnsignedTransaction getAccount getAccountInfo getTransactionBySenderAndNonce sendTransactionSync`,
  tenderly: 'setBalance addBalance setErc20Balance',
  trace: 'transaction block get filter replayTransaction replayBlockTransactions call callMany rawTransaction',
  ots: 'getApiLevel getBlockDetails getBlockDetailsByHash getBlockTransactions getContractCreator getInternalOperations getTransactionBySenderAndNonce getTransactionError hasCode searchTransactionsAfter searchTransactionsBefore traceTransaction',
  erigon: 'getHeaderByNumber',
  engine: `newPayloadV1 newPayloadV2 newPayloadV3 newPayloadV4 forkchoiceUpdatedV1 forkchoiceUpdatedV2 forkchoiceUpdatedV3 getPayloadV1
    getPayloadV2 getPayloadV3 getPayloadV4 getPayloadV5 getBlobsV1 getBlobsV2 getBlobsV3 getPayloadBodiesByHashV1
    getPayloadBodiesByRangeV1 getClientVersionV1 exchangeCapabilities`,
  net: 'version listening peerCount',
  web3: 'clientVersion sha3',
  testing: 'buildBlockV1',
  personal: 'sign',
  evm: `mine mine_detailed setAutomine setIntervalMining increaseTime setNextBlockTimestamp setTime snapshot revert setBlockGasLimit
    setAccountNonce`,
  anvil: `mine mine_detailed rollback reorg setAutomine getAutomine setIntervalMining getIntervalMining increaseTime setNextBlockTimestamp
    setTime setBlockTimestampInterval removeBlockTimestampInterval snapshot revert setNextBlockBaseFeePerGas setMinGasPrice setChainId
    setBlockGasLimit setCoinbase setBalance addBalance setCode setNonce setStorageAt dealERC20 setERC20Balance setERC20Allowance impersonateAccount
    stopImpersonatingAccount autoImpersonateAccount dropTransaction dropAllTransactions removePoolTransactions nodeInfo metadata reset
    dumpState loadState setLoggingEnabled setRpcUrl getGenesisTime getBlobByHash getBlobsByTransactionHash`,
  hardhat: `mine getAutomine setBlockTimestampInterval removeBlockTimestampInterval setNextBlockBaseFeePerGas setMinGasPrice setCoinbase
    setChainId setPrevRandao setBalance addBalance setCode setNonce setStorageAt dealERC20 impersonateAccount stopImpersonatingAccount
    autoImpersonateAccount dropTransaction dropAllTransactions metadata reset dumpState loadState setLoggingEnabled setRpcUrl
    intervalMine addCompilationResult getStackTraceFailuresCount`,
  debug: `getRawBlock getRawHeader getRawReceipts getRawTransaction traceTransaction traceBlockByNumber traceBlockByHash traceBlock traceCall
    traceCallMany traceStateAccess traceStepIndex traceSteps traceStepSearch traceGasProfile traceTransactionProfile traceBadBlock codeByHash getBadBlocks intermediateRoots storageRangeAt standardTraceBlockToFile standardTraceBadBlockToFile
    subscribe unsubscribe dbGet dbAncient dbAncients chaindbProperty chaindbCompact setHead`,
  txpool: 'status content contentFrom inspect',
  rpc: 'modules',
  chain: 'getTransactionReceipt getChainAddress getEVMAddress getCosmosTx',
}

describe('the table of methods', () => {
  it('has every promised method and no other', () => {
    const promised = Object.entries(PROMISED).flatMap(([namespace, names]) => names.split(/\s+/).map((name) => `${namespace}_${name}`))
    expect(METHODS.map((m) => m.name).sort()).toEqual(promised.sort())
  })

  it('has one file per method, named after it; others by topic', () => {
    const files = fs
      .readdirSync(DIR)
      .filter((ns) => ns !== 'dev' && ns !== 'engine')
      .flatMap((ns) => fs.readdirSync(path.join(DIR, ns)).map((file) => `${ns}_${file.replace(/\.ts$/, '')}`))
    expect(files.sort()).toEqual(
      METHODS.filter((m) => !DEV_METHODS.includes(m) && !ENGINE_METHODS.includes(m))
        .map((m) => m.name)
        .sort(),
    )
  })

  it('documents each, has optional ones last, marks writes', () => {
    for (const { name, doc, params } of METHODS) {
      expect(doc, name).toMatch(/^[A-Z].*\.$/)
      const firstOptional = params.findIndex((p) => !p.required)
      if (firstOptional >= 0)
        expect(
          params.slice(firstOptional).every((p) => !p.required),
          name,
        ).toBe(true)
    }
    const writes = METHODS.filter((m) => m.cost === 'write').map((m) => m.name)
    const ofDev = DEV_METHODS.filter((m) => !/_(get|nodeInfo|metadata|dumpState)/.test(m.name)).map((m) => m.name)
    const ofEngine = ENGINE_METHODS.filter((m) => /newPayload|forkchoiceUpdated/.test(m.name)).map((m) => m.name)
    expect(writes).toEqual(['eth_sendRawTransaction', 'eth_sendTransaction', 'eth_sendRawTransactionSync', ...ofEngine, ...ofDev])
  })

  it('keeps the development namespaces to development chains', () => {
    const asked = ['eth', ...DEV_NAMESPACES]
    expect(servedNamespaces(asked, false)).toEqual(['eth'])
    expect(servedNamespaces(['eth'], true)).toEqual(['eth', 'anvil', 'evm', 'hardhat', 'personal', 'tenderly'])
    expect([...new Set(METHODS.map((m) => namespaceOf(m.name)))].sort()).toEqual(['engine', ...NAMESPACES].sort())
    expect(DEV_NAMESPACES).toEqual(['anvil', 'evm', 'hardhat', 'personal', 'tenderly'])
  })

  it('serves the namespaces asked for alone', () => {
    expect([...methodTable(['net', 'rpc', 'nothing'], []).keys()].sort()).toEqual([
      'net_listening',
      'net_peerCount',
      'net_version',
      'rpc_modules',
    ])
    expect([namespaceOf('eth_call'), namespaceOf('call'), namespaceOf('_x')]).toEqual(['eth', '', ''])
  })
})
