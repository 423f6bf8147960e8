// The documented public actions of viem, each on a node whose chain has the small contract, with
// the expected results.
import { createPublicClient, encodeFunctionData, type Hex, http, type PublicClient, parseEther, webSocket } from 'viem'
import { hardhat } from 'viem/chains'
import { ABI, DEPLOY } from './contract.ts'

/** A chain with one contract, whose `set(42)` was the last transaction. */
export interface Site {
  readonly address: Hex
  readonly owner: Hex
  readonly deployedIn: bigint
  readonly setBy: Hex
  readonly setIn: bigint
}

const [set, , event] = ABI

export const httpClient = (url: string): PublicClient => createPublicClient({ chain: hardhat, transport: http(url), pollingInterval: 50 })

export const wsClient = (url: string): PublicClient => createPublicClient({ chain: hardhat, transport: webSocket(url) })

/** An action and what it must give. */
type Action = readonly [name: string, run: (client: PublicClient, site: Site) => Promise<unknown>, want: (site: Site) => unknown]

const data = encodeFunctionData({ abi: ABI, functionName: 'get' })
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`

/** Actions that only read, so that they run on any node. */
export const READS: readonly Action[] = [
  ['call', (c, s) => c.call({ to: s.address, data }), () => ({ data: word(42) })],
  [
    'createAccessList',
    async (c, s) => (await c.createAccessList({ account: s.owner, to: s.address, data })).accessList,
    (s) => [{ address: s.address.toLowerCase(), storageKeys: [word(0)] }],
  ],
  [
    'estimateContractGas',
    async (c, s) => (await c.estimateContractGas({ ...contract(s), functionName: 'set', args: [1n], account: s.owner })) > 21_000n,
    () => true,
  ],
  ['estimateFeesPerGas', async (c) => Object.keys(await c.estimateFeesPerGas()).sort(), () => ['maxFeePerGas', 'maxPriorityFeePerGas']],
  ['estimateGas', (c, s) => c.estimateGas({ account: s.owner, to: s.owner, value: 1n }), () => 21_000n],
  ['estimateMaxPriorityFeePerGas', async (c) => typeof (await c.estimateMaxPriorityFeePerGas()), () => 'bigint'],
  [
    'fillTransaction',
    // The type of a client of any chain requires fields that no transaction of this kind needs.
    async (c, s) => (await c.fillTransaction({ account: s.owner, to: s.owner, value: 7n } as never)).transaction.value,
    () => 7n,
  ],
  ['getBalance', async (c, s) => (await c.getBalance({ address: s.owner })) > parseEther('9999'), () => true],
  ['getBlobBaseFee', (c) => c.getBlobBaseFee(), () => 1n],
  ['getBlock', async (c, s) => (await c.getBlock({ blockNumber: s.setIn })).transactions, (s) => [s.setBy]],
  ['getBlock, pending', async (c, s) => (await c.getBlock({ blockTag: 'pending' })).number === s.setIn + 1n, () => true],
  ['getBlockNumber', (c) => c.getBlockNumber({ cacheTime: 0 }), (s) => s.setIn],
  ['getBlockTransactionCount', (c, s) => c.getBlockTransactionCount({ blockNumber: s.setIn }), () => 1],
  ['getChainId', (c) => c.getChainId(), () => 31_337],
  ['getCode', (c, s) => c.getCode({ address: s.address }), () => `0x${DEPLOY.slice(2 + 24)}`],
  [
    'getContractEvents',
    async (c, s) => (await c.getContractEvents({ ...contract(s), eventName: 'Set', fromBlock: 0n })).map((log) => log.args.value),
    () => [42n],
  ],
  ['getFeeHistory', async (c) => (await c.getFeeHistory({ blockCount: 1, rewardPercentiles: [50] })).baseFeePerGas.length, () => 2],
  ['getGasPrice', async (c) => (await c.getGasPrice()) > 0n, () => true],
  ['getLogs', async (c, s) => (await c.getLogs({ address: s.address, event, fromBlock: 0n })).map((log) => log.args.value), () => [42n]],
  ['getProof', async (c, s) => (await c.getProof({ address: s.address, storageKeys: [word(0)] })).storageProof[0]?.value, () => 42n],
  ['getStorageAt', (c, s) => c.getStorageAt({ address: s.address, slot: '0x0' }), () => word(42)],
  ['getTransaction', async (c, s) => (await c.getTransaction({ hash: s.setBy })).blockNumber, (s) => s.setIn],
  ['getTransaction, by place', async (c, s) => (await c.getTransaction({ blockNumber: s.setIn, index: 0 })).hash, (s) => s.setBy],
  ['getTransactionConfirmations', (c, s) => c.getTransactionConfirmations({ hash: s.setBy }), () => 1n],
  ['getTransactionCount', async (c, s) => (await c.getTransactionCount({ address: s.owner, blockTag: 'pending' })) > 0, () => true],
  ['getTransactionReceipt', async (c, s) => (await c.getTransactionReceipt({ hash: s.setBy })).status, () => 'success'],
  [
    'multicall',
    (c, s) => c.multicall({ contracts: [{ ...contract(s), functionName: 'get' }], allowFailure: false, deployless: true }),
    () => [42n],
  ],
  [
    'prepareTransactionRequest',
    async (c, s) => (await c.prepareTransactionRequest({ chain: hardhat, account: s.owner, to: s.owner })).gas,
    () => 21_000n,
  ],
  ['readContract', (c, s) => c.readContract({ ...contract(s), functionName: 'get' }), () => 42n],
  [
    'simulateBlocks',
    async (c, s) => (await c.simulateBlocks({ blocks: [{ calls: [{ to: s.address, data }] }] }))[0]?.calls[0]?.data,
    () => word(42),
  ],
  ['simulateCalls', async (c, s) => (await c.simulateCalls({ calls: [{ to: s.address, data }] })).results[0]?.data, () => word(42)],
  [
    'simulateContract',
    async (c, s) => (await c.simulateContract({ ...contract(s), functionName: 'set', args: [5n], account: s.owner })).request.args,
    () => [5n],
  ],
  ['waitForTransactionReceipt', async (c, s) => (await c.waitForTransactionReceipt({ hash: s.setBy })).blockNumber, (s) => s.setIn],
]

const contract = (site: Site) => ({ address: site.address, abi: ABI }) as const

/** The function that the site's last transaction called. */
export const SET = set
