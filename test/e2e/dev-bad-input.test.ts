// Bad input for every method of a development chain: it is refused with a message, and the chain is
// unchanged afterwards.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEV_METHODS } from '../../ts/rpc/methods/dev/index.ts'
import { kindOfParam } from '../unit/param-kinds.ts'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { type RunningNode, rpc, startNode } from './harness.ts'

const INVALID_PARAMS = -32602
const LIMIT = -32005
const TOKEN = '0x00000000000000000000000000000000000000c1'
const U64_MAX = '0xffffffffffffffff'
const [OVER_64, OVER_256] = [`0x1${'0'.repeat(16)}`, `0x1${'0'.repeat(64)}`]
const HASH = `0x${'22'.repeat(32)}`
const ZERO_HASH = `0x${'00'.repeat(32)}`
/** Longest value that goes over the wire here, in characters of JSON. */
const WIRE_MAX = 100_000

let node: RunningNode
let dev: Calls
beforeAll(async () => {
  node = await startNode(['dev'])
  dev = new Calls(node.url)
  await dev.call('evm_setAutomine', false)
  await dev.send(ALICE, BOB, { value: '0x7', gas: '0x5208' })
  await dev.call('evm_mine')
  // A transaction waits, an account is edited, another is impersonated, and there is a snapshot.
  await dev.send(ALICE, BOB, { value: '0x8', gas: '0x5208' })
  await dev.call('anvil_setStorageAt', TOKEN, '0x1', `0x${'0'.repeat(62)}2a`)
  await dev.call('anvil_impersonateAccount', TOKEN)
  await dev.call('evm_snapshot')
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
})

/** Whatever these methods change, and what the next block would be like. */
async function everything(): Promise<unknown> {
  const next = await dev.call<Record<string, unknown>>('eth_getBlockByNumber', 'pending', false)
  const info = await dev.call<object>('anvil_nodeInfo')
  return {
    head: await dev.block(),
    next: { miner: next.miner, gasLimit: next.gasLimit, baseFee: next.baseFeePerGas, transactions: next.transactions },
    info,
    chainId: await dev.call('eth_chainId'),
    accounts: await dev.call('eth_accounts'),
    automine: await dev.call('anvil_getAutomine'),
    interval: await dev.call('anvil_getIntervalMining'),
    pool: await dev.call('txpool_content'),
    snapshots: (await dev.call<{ snapshots: object }>('anvil_metadata')).snapshots,
    edited: await dev.call('eth_getProof', TOKEN, ['0x1'], 'latest'),
    sender: [await dev.balance(ALICE), await dev.call('eth_getTransactionCount', ALICE, 'latest'), await dev.balance(BOB)],
  }
}

/**
 * The possible delay of a request on a busy machine, in seconds; refused values would move the
 * clock by far more.
 */
const SLOW_S = 30

/**
 * How far the clock is ahead of the machine's, in seconds, read from a newly made pending block.
 */
async function ahead(): Promise<number> {
  await dev.call('anvil_removePoolTransactions', TOKEN)
  return (await dev.time('pending')) - Math.floor(Date.now() / 1000)
}

describe('every method', () => {
  it.each(DEV_METHODS.map(({ name, params }) => [name, params] as const))(
    '%s refuses wrong counts and types, and changes nothing',
    async (name, params) => {
      const before = await everything()
      const refused = async (given: unknown, codes: readonly number[] = [INVALID_PARAMS]): Promise<void> => {
        const { result, error } = await rpc(node.url, name, given as unknown[])
        expect(codes, `${name} ${JSON.stringify(given)?.slice(0, 100)}: ${JSON.stringify(result ?? error)}`).toContain(error?.code)
        expect(error?.message).toMatch(/\w/)
      }
      const kinds = params.map((param) => kindOfParam(param))
      const good = kinds.map((kind) => kind?.good)
      await refused([...good, 1])
      for (const given of [{}, 'x', 1, true]) await refused(given)
      for (const [place, { required }] of params.entries()) {
        for (const bad of kinds[place]?.bad ?? [])
          if (JSON.stringify(bad).length <= WIRE_MAX) await refused(good.with(place, bad), [INVALID_PARAMS, LIMIT])
        if (!required) continue
        await refused(good.slice(0, place))
        await refused(good.with(place, null))
      }
      expect(await everything()).toEqual(before)
    },
  )
})

/**
 * The expected outcome of well-formed values that are impossible: an error with this text, or an
 * answer without effect.
 */
type Outcome = RegExp | { readonly answer: unknown }

const past = (): string => '0x1'
const nothing = (answer: unknown): Outcome => ({ answer })

/** Methods under all their names, parameters, and what comes of them. */
const IMPOSSIBLE: readonly (readonly [methods: string, params: readonly unknown[], outcome: Outcome])[] = [
  ['evm_mine evm_mine_detailed anvil_mine_detailed', [past()], /lower than previous block's timestamp/],
  ['evm_mine evm_mine_detailed anvil_mine_detailed', [{ timestamp: past(), blocks: 3 }], /lower than previous block's timestamp/],
  ['evm_mine evm_mine_detailed anvil_mine_detailed', [U64_MAX], /out of range: at most \d+/],
  ['evm_mine', [{ blocks: U64_MAX }], /blocks are too many: at most 16777216/],
  ['evm_mine_detailed anvil_mine_detailed', [{ blocks: 1001 }], /at most 1000 blocks are made and returned at once/],
  ['anvil_mine hardhat_mine', [U64_MAX], /blocks are too many: at most 16777216/],
  ['anvil_mine hardhat_mine', [2, U64_MAX], /out of range/],
  ['anvil_mine hardhat_mine', [1000, `0x7${'f'.repeat(15)}`], /out of range/],
  ['anvil_mine hardhat_mine', [OVER_64], /number > 64 bits/],
  ['anvil_rollback', [2], /Rollback depth must not exceed current chain height: current height 1, depth 2/],
  ['anvil_rollback', [U64_MAX], /Rollback depth must not exceed/],
  ['anvil_reorg', [2, []], /Reorg depth must not exceed current chain height: current height 1, depth 2/],
  ['anvil_reorg', [1, [['0x1234', 0]]], /transaction 0: /],
  ['anvil_reorg', [1, [[{ from: ALICE, to: BOB }, 1]]], /must not exceed \(depth-1\) 0/],
  ['evm_setIntervalMining anvil_setIntervalMining', ['0x7fffffff'], /number > 1073741824/],
  ['evm_setIntervalMining anvil_setIntervalMining', [[5, 1]], /a range begins at its lower end/],
  ['evm_increaseTime anvil_increaseTime', [U64_MAX], /out of range/],
  ['evm_increaseTime anvil_increaseTime', [OVER_64], /number > 64 bits/],
  ['evm_setNextBlockTimestamp anvil_setNextBlockTimestamp', [past()], /lower than previous block's timestamp/],
  ['evm_setNextBlockTimestamp anvil_setNextBlockTimestamp', [U64_MAX], /out of range/],
  ['evm_setTime anvil_setTime', [past()], /lower than previous block's timestamp/],
  ['evm_setTime anvil_setTime', [U64_MAX], /out of range/],
  ['anvil_setBlockTimestampInterval', [U64_MAX], /out of range/],
  ['hardhat_setBlockTimestampInterval', [OVER_64], /number > 64 bits/],
  ['evm_revert anvil_revert', ['0x99'], nothing(false)],
  ['evm_revert anvil_revert', [`0x${'f'.repeat(64)}`], nothing(false)],
  ['evm_revert anvil_revert', [OVER_256], /number > 256 bits/],
  ['anvil_setNextBlockBaseFeePerGas hardhat_setNextBlockBaseFeePerGas', [OVER_64], /the base fee takes at most 64 bits/],
  ['anvil_setMinGasPrice hardhat_setMinGasPrice', ['0x1'], /anvil_setMinGasPrice is not supported when EIP-1559 is active/],
  ['evm_setBlockGasLimit anvil_setBlockGasLimit', [OVER_64], /number > 64 bits/],
  ['anvil_setChainId hardhat_setChainId', [0], /the chain id cannot be 0/],
  ['anvil_setChainId hardhat_setChainId', [U64_MAX], /the chain id cannot be 18446744073709551615: .*EIP-2294/],
  ['anvil_setChainId hardhat_setChainId', [OVER_64], /number > 64 bits/],
  ['anvil_setCoinbase hardhat_setCoinbase', [`${ALICE}00`], /invalid argument 0/],
  ['hardhat_setPrevRandao', [`${HASH}00`], /invalid argument 0/],
  ['anvil_setBalance hardhat_setBalance tenderly_setBalance', [ALICE, OVER_256], /number > 256 bits/],
  ['anvil_addBalance hardhat_addBalance tenderly_addBalance', [ALICE, OVER_256], /number > 256 bits/],
  ['anvil_setNonce hardhat_setNonce evm_setAccountNonce', [ALICE, OVER_64], /number > 64 bits/],
  ['anvil_setCode hardhat_setCode', [TOKEN, '0x6'], /invalid argument 1/],
  ['anvil_setStorageAt hardhat_setStorageAt', [TOKEN, OVER_256, ZERO_HASH], /number > 256 bits/],
  ['anvil_setStorageAt hardhat_setStorageAt', [TOKEN, '0x0', `${HASH}00`], /number > 256 bits|invalid argument 2/],
  [
    'anvil_dealERC20 anvil_setERC20Balance hardhat_dealERC20 tenderly_setErc20Balance',
    [ALICE, BOB, '0x1'],
    /Unable to set ERC20 balance, no slot found/,
  ],
  ['anvil_setERC20Allowance', [ALICE, BOB, BOB, '0x1'], /Unable to set ERC20 allowance, no slot found/],
  ['anvil_impersonateAccount hardhat_impersonateAccount', [`${ALICE}00`], /invalid argument 0/],
  ['anvil_stopImpersonatingAccount hardhat_stopImpersonatingAccount', [BOB], nothing(null)],
  ['anvil_dropTransaction', [HASH], nothing(null)],
  ['hardhat_dropTransaction', [HASH], nothing(false)],
  ['anvil_removePoolTransactions', [BOB], nothing(null)],
  ['eth_sendUnsignedTransaction', [{ from: TOKEN, to: BOB, value: '0x1' }], /insufficient funds/],
  ['eth_sendUnsignedTransaction', [{ from: TOKEN, to: BOB, chainId: '0x1' }], /chainId does not match node's \(have=1, want=31337\)/],
  ['eth_sendUnsignedTransaction', [{ from: TOKEN, to: BOB, gas: OVER_64 }], /64 bits/],
  ['anvil_reset hardhat_reset', [{ forking: { blockNumber: 1 } }], /Forking not enabled and RPC URL not provided to start forking/],
  ['anvil_reset hardhat_reset', [{ forking: { jsonRpcUrl: 'file:///x' } }], /forking\.jsonRpcUrl: .*is no URL of HTTP/],
  ['anvil_loadState hardhat_loadState', ['0x1234'], /Failed to decode state dump/],
  ['anvil_loadState hardhat_loadState', ['0x1f8b08'], /Failed to decode state dump/],
  ['anvil_loadState hardhat_loadState', [`0x${Buffer.from('{"accounts":{"0x1":{}}}').toString('hex')}`], /Failed to decode state dump/],
  [
    'anvil_loadState hardhat_loadState',
    [`0x${Buffer.from(`{"accounts":{},"best_block_number":"${U64_MAX}"}`).toString('hex')}`],
    /its block number is more than 16777216 above the head/,
  ],
  ['anvil_setRpcUrl hardhat_setRpcUrl', ['nowhere'], /is no URL of HTTP/],
  ['anvil_setRpcUrl hardhat_setRpcUrl', ['ftp://127.0.0.1'], /is no URL of HTTP/],
  ['eth_getAccount eth_getAccountInfo', [ALICE, '0xffff'], /block #65535 not found|header not found/],
  ['eth_getTransactionBySenderAndNonce', [ALICE, U64_MAX], nothing(null)],
  ['eth_getTransactionBySenderAndNonce', [ALICE, OVER_64], /number > 64 bits/],
  ['eth_sendTransactionSync', [{ from: BOB, to: ALICE, value: `0x${'f'.repeat(64)}` }], /insufficient funds|overflow/],
  ['eth_sendTransactionSync', [{ from: `0x${'b7'.repeat(20)}`, to: ALICE }], /unknown account/],
  ['trace_transaction', [HASH], nothing(null)],
  ['trace_block', ['0xffff'], nothing(null)],
]

/** Methods without a value that could be impossible: a choice, or nothing at all. */
const ALWAYS_POSSIBLE =
  /_(set|get)Automine$|_setLoggingEnabled$|_autoImpersonateAccount$|_get\w+$|_snapshot$|_dropAllTransactions$|_dumpState$|_nodeInfo$|_metadata$|_removeBlockTimestampInterval$|^hardhat_(intervalMine|addCompilationResult)$/

describe('values that cannot be', () => {
  it('are known of every method that has some', () => {
    const known = new Set(IMPOSSIBLE.flatMap(([methods]) => methods.split(' ')))
    const missing = DEV_METHODS.map(({ name }) => name).filter((name) => !known.has(name) && !ALWAYS_POSSIBLE.test(name))
    expect(missing).toEqual([])
  })

  it.each(IMPOSSIBLE)('%s %j', async (methods, params, outcome) => {
    for (const method of methods.split(' ')) {
      const before = await everything()
      const clock = await ahead()
      const { result, error } = await rpc(node.url, method, [...params])
      if (outcome instanceof RegExp) {
        expect(error?.message, `${method}: ${JSON.stringify(result)}`).toMatch(outcome)
        expect([INVALID_PARAMS, LIMIT, -32000], method).toContain(error?.code)
      } else expect({ result, error }, method).toEqual({ result: outcome.answer, error: undefined })
      expect(await everything(), method).toEqual(before)
      expect(Math.abs((await ahead()) - clock), method).toBeLessThan(SLOW_S)
    }
  })

  it('leave a node that goes on', async () => {
    await dev.call('evm_mine')
    expect((await dev.block()).transactions).toHaveLength(1)
    expect(node.log()).not.toMatch(/error:|panicked/)
  })
})
