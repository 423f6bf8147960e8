// The methods that anvil 1.7.1 and Hardhat 2.28 have beyond those of go-ethereum's namespaces eth,
// net, web3 and debug, by name, and the page that compares them with those of Hearth.
import { DEV_METHODS } from './methods/dev/index.ts'
import { isMethod, METHODS } from './table.ts'

const words = (text: string): readonly string[] => text.split(/\s+/).filter((word) => word !== '')

/** Names that anvil answers to, some of them aliases of others. */
export const ANVIL_NAMES = words(`
  anvil_addBalance hardhat_addBalance tenderly_addBalance anvil_autoImpersonateAccount hardhat_autoImpersonateAccount anvil_dealERC20
  anvil_setERC20Balance hardhat_dealERC20 tenderly_setErc20Balance anvil_dropAllTransactions hardhat_dropAllTransactions
  anvil_dropTransaction hardhat_dropTransaction anvil_dumpState hardhat_dumpState anvil_getAutomine hardhat_getAutomine
  anvil_getBlobByHash anvil_getBlobsByTransactionHash anvil_getGenesisTime anvil_getIntervalMining anvil_impersonateAccount
  hardhat_impersonateAccount anvil_impersonateSignature anvil_increaseTime evm_increaseTime anvil_loadState hardhat_loadState
  anvil_metadata hardhat_metadata anvil_mine hardhat_mine evm_mine anvil_mine_detailed evm_mine_detailed anvil_nodeInfo
  anvil_removeBlockTimestampInterval anvil_removePoolTransactions anvil_reorg anvil_reset hardhat_reset anvil_revert evm_revert
  anvil_rollback anvil_setAutomine evm_setAutomine anvil_setBalance hardhat_setBalance tenderly_setBalance anvil_setBlockGasLimit
  evm_setBlockGasLimit anvil_setBlockTimestampInterval anvil_setChainId anvil_setCode hardhat_setCode anvil_setCoinbase
  hardhat_setCoinbase anvil_setERC20Allowance anvil_setFeeAmmLiquidity anvil_setFeeToken anvil_setIntervalMining evm_setIntervalMining
  anvil_setLoggingEnabled hardhat_setLoggingEnabled anvil_setMinGasPrice hardhat_setMinGasPrice anvil_setNextBlockBaseFeePerGas
  hardhat_setNextBlockBaseFeePerGas anvil_setNextBlockTimestamp evm_setNextBlockTimestamp anvil_setNonce hardhat_setNonce
  evm_setAccountNonce anvil_setRpcUrl anvil_setStorageAt hardhat_setStorageAt anvil_setTime evm_setTime anvil_setValidatorFeeToken
  anvil_snapshot evm_snapshot anvil_stopImpersonatingAccount hardhat_stopImpersonatingAccount eth_sendTransactionSync
  eth_sendUnsignedTransaction eth_getTransactionBySenderAndNonce eth_getAccount eth_getAccountInfo eth_sendRawTransactionConditional
  personal_sign txpool_content txpool_inspect txpool_status trace_block trace_filter trace_replayBlockTransactions trace_transaction
  erigon_getHeaderByNumber ots_getApiLevel ots_getBlockDetails ots_getBlockDetailsByHash ots_getBlockTransactions ots_getContractCreator
  ots_getInternalOperations ots_getTransactionBySenderAndNonce ots_getTransactionError ots_hasCode ots_searchTransactionsAfter
  ots_searchTransactionsBefore ots_traceTransaction`)

/** Names that Hardhat's node answers to. */
export const HARDHAT_NAMES = words(`
  evm_increaseTime evm_mine evm_revert evm_setAutomine evm_setBlockGasLimit evm_setIntervalMining evm_setNextBlockTimestamp evm_snapshot
  hardhat_addCompilationResult hardhat_dropTransaction hardhat_getAutomine hardhat_getStackTraceFailuresCount hardhat_impersonateAccount
  hardhat_intervalMine hardhat_metadata hardhat_mine hardhat_reset hardhat_setBalance hardhat_setCode hardhat_setCoinbase
  hardhat_setLoggingEnabled hardhat_setMinGasPrice hardhat_setNextBlockBaseFeePerGas hardhat_setNonce hardhat_setPrevRandao
  hardhat_setStorageAt hardhat_stopImpersonatingAccount personal_sign`)

const yes = (has: boolean): string => (has ? 'yes' : 'no')

/** The page docs/dev-methods.md. */
export function devMethodsPage(): string {
  const ours = new Set(METHODS.map((m) => m.name))
  const all = [...new Set([...ANVIL_NAMES, ...HARDHAT_NAMES, ...DEV_METHODS.map((m) => m.name)])].sort()
  const rows = all.map((name) => {
    const doc = METHODS.find((m) => m.name === name)?.doc ?? ''
    return `| \`${name}\` | ${yes(ours.has(name))} | ${yes(ANVIL_NAMES.includes(name))} | ${yes(HARDHAT_NAMES.includes(name))} | ${doc.replaceAll('|', '\\|')} |`
  })
  const count = (names: readonly string[]): string => `${names.filter(isMethod).length} of ${names.length}`
  return [
    '# Methods of development nodes',
    '',
    'Generated from `ts/rpc/dev-names.ts` and the method table by `npm run docs`. What anvil 1.7.1 and the node of Hardhat 2.28 have beyond',
    `go-ethereum's \`eth\`, \`net\`, \`web3\` and \`debug\`, and which of it \`hearth dev\` has: ${count(ANVIL_NAMES)} of anvil's, ${count(HARDHAT_NAMES)} of Hardhat's. Of them, \`hearth start\` has`,
    'those of the namespaces `txpool`, `trace`, `ots` and `erigon` that `evm.namespaces` names.',
    '',
    'Numbers are hex or decimal, as text or as JSON numbers. `evm_setIntervalMining` takes seconds, as anvil does; Hardhat takes milliseconds under',
    'that name. An edit of the state (a balance, code, a nonce, a slot) counts from the moment it is made, in the state after the head and in',
    'every later block; traces of blocks that were there before do not see it. Blocks that are requested by number are real ones, however many: each has',
    'its own header, state root and place in the ledger. `evm_increaseTime` counts from the head where that is ahead of the clock, since times ascend',
    'strictly from block to block. What lies up to the block that a fork begins after is the origin’s, `eth_getProof` and `debug_storageRangeAt` included.',
    '',
    '| method | hearth dev | anvil | Hardhat | what it does |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}
