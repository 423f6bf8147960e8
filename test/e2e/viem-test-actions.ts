// Every action of viem's test client, each with what a development node must have done after it.
import { createTestClient, type Hex, http, type PublicClient, parseEther, publicActions, type TestClient, walletActions } from 'viem'
import { hardhat } from 'viem/chains'
import { expect } from 'vitest'
import { DEPLOY } from './contract.ts'
import type { DevNode } from './dev-node.ts'
import { PATIENCE_MS } from './waiting.ts'

/** The prefixes of the methods that the actions call: `anvil_*` and `hardhat_*`. */
export const MODES = ['anvil', 'hardhat'] as const

/** A test client that can also read and send. */
const makeClient = (url: string, mode: (typeof MODES)[number]) =>
  createTestClient({ mode, chain: hardhat, transport: http(url), cacheTime: 0, pollingInterval: 25 })
    .extend(publicActions)
    .extend(walletActions)

/** The input of a case: the client, two funded accounts, and an unused address. */
interface Given {
  readonly client: ReturnType<typeof makeClient>
  readonly node: DevNode
  readonly mode: (typeof MODES)[number]
  readonly owner: Hex
  readonly other: Hex
  readonly fresh: Hex
}

/** Calls an action and checks by value what it has done. */
type Case = (given: Given) => Promise<void>

const GWEI = 10n ** 9n
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`

let fresh = 0x71_0000

/** What a case works with on this node. */
export async function given(node: DevNode, mode: (typeof MODES)[number]): Promise<Given> {
  const client = makeClient(node.url, mode)
  const [owner, other] = (await client.getAddresses()) as [Hex, Hex]
  return { client, node, mode, owner, other, fresh: `0x${(++fresh).toString(16).padStart(40, '0')}` }
}

/** Runs something while blocks are made on demand alone. */
async function withoutMining<T>(client: TestClient, run: () => Promise<T>): Promise<T> {
  await client.setAutomine(false)
  try {
    return await run()
  } finally {
    await client.setAutomine(true)
  }
}

const latest = (client: PublicClient) => client.getBlock({ blockTag: 'latest' })

/** The head after one more block. */
async function next(client: Given['client']) {
  await client.mine({ blocks: 1 })
  return latest(client as PublicClient)
}

/**
 * Cases by the name of their action; `reset` is separate, since it removes the effects of the
 * others.
 */
export const ACTIONS: Readonly<Record<string, Case>> = {
  async dropTransaction({ client, owner, fresh }) {
    await withoutMining(client, async () => {
      const dropped = await client.sendTransaction({ account: owner, to: fresh, value: 1n })
      expect((await client.getTxpoolStatus()).pending).toBe(1)
      await client.dropTransaction({ hash: dropped })
      expect(await client.getTxpoolStatus()).toEqual({ pending: 0, queued: 0 })
      await client.mine({ blocks: 1 })
      await expect(client.getTransactionReceipt({ hash: dropped })).rejects.toThrow(/could not be found/)
      expect(await client.getBalance({ address: fresh })).toBe(0n)
    })
  },

  async 'dumpState and loadState'({ client, fresh }) {
    await client.setBalance({ address: fresh, value: 77n })
    await client.setStorageAt({ address: fresh, index: 3, value: word(9) })
    const state = await client.dumpState()
    expect(state).toMatch(/^0x1f8b/)
    await client.setBalance({ address: fresh, value: 1n })
    await client.setStorageAt({ address: fresh, index: 3, value: word(1) })
    await client.loadState({ state })
    expect(await client.getBalance({ address: fresh })).toBe(77n)
    expect(await client.getStorageAt({ address: fresh, slot: word(3) })).toBe(word(9))
  },

  async 'getAutomine and setAutomine'({ client, owner, fresh }) {
    expect(await client.getAutomine()).toBe(true)
    const before = await client.getBlockNumber()
    await withoutMining(client, async () => {
      expect(await client.getAutomine()).toBe(false)
      const hash = await client.sendTransaction({ account: owner, to: fresh, value: 5n })
      expect(await client.getBlockNumber()).toBe(before)
      expect((await client.getTransaction({ hash })).blockNumber).toBeNull()
      await client.mine({ blocks: 1 })
      expect((await client.getTransactionReceipt({ hash })).blockNumber).toBe(before + 1n)
    })
    expect(await client.getAutomine()).toBe(true)
    await client.sendTransaction({ account: owner, to: fresh, value: 5n })
    expect(await client.getBlockNumber()).toBe(before + 2n)
    expect(await client.getBalance({ address: fresh })).toBe(10n)
  },

  async 'getTxpoolContent, getTxpoolStatus, inspectTxpool'({ client, owner, fresh }) {
    await withoutMining(client, async () => {
      const nonce = await client.getTransactionCount({ address: owner })
      const fees = { gas: 21_000n, maxFeePerGas: 30n * GWEI, maxPriorityFeePerGas: GWEI, type: 'eip1559' } as const
      const first = await client.sendTransaction({ account: owner, to: fresh, value: 5n, nonce, ...fees })
      const gap = await client.sendTransaction({ account: owner, to: fresh, value: 6n, nonce: nonce + 2, ...fees })
      expect(await client.getTxpoolStatus()).toEqual({ pending: 1, queued: 1 })
      const { pending, queued } = await client.getTxpoolContent()
      const of = (all: typeof pending) => Object.entries(all).find(([address]) => address.toLowerCase() === owner.toLowerCase())?.[1] ?? {}
      expect(Object.values(of(pending)).map((tx) => tx.hash)).toEqual([first])
      expect(Object.values(of(queued)).map((tx) => tx.hash)).toEqual([gap])
      const words = JSON.stringify(await client.inspectTxpool()).toLowerCase()
      expect(words).toContain(`${fresh}: 5 wei`)
      expect(words).toContain(`${fresh}: 6 wei`)
      await client.dropTransaction({ hash: gap })
      await client.mine({ blocks: 1 })
      expect(await client.getTxpoolStatus()).toEqual({ pending: 0, queued: 0 })
      expect(await client.getBalance({ address: fresh })).toBe(5n)
    })
  },

  async 'impersonateAccount and stopImpersonatingAccount'({ client, owner, fresh }) {
    await client.setBalance({ address: fresh, value: parseEther('1') })
    await client.impersonateAccount({ address: fresh })
    const hash = await client.sendTransaction({ account: fresh, to: owner, value: 3n })
    const { status, from } = await client.waitForTransactionReceipt({ hash })
    expect([status, from]).toEqual(['success', fresh])
    expect(await client.getTransactionCount({ address: fresh })).toBe(1)
    await client.stopImpersonatingAccount({ address: fresh })
    await expect(client.sendTransaction({ account: fresh, to: owner, value: 3n, gas: 21_000n })).rejects.toThrow(
      /signer|account|impersonat/i,
    )
    expect(await client.getTransactionCount({ address: fresh })).toBe(1)
  },

  async increaseTime({ client }) {
    // The action moves the clock. Blocks within the same second precede it, until it is set to one
    // of them.
    await client.setNextBlockTimestamp({ timestamp: (await next(client)).timestamp + 1n })
    const before = (await next(client)).timestamp
    await client.increaseTime({ seconds: 10_000 })
    const passed = (await next(client)).timestamp - before
    expect(passed).toBeGreaterThanOrEqual(10_000n)
    expect(passed).toBeLessThan(10_060n)
    // The clock stays ahead.
    expect((await next(client)).timestamp - before).toBeLessThan(10_060n)
  },

  async mine({ client }) {
    const before = await latest(client as PublicClient)
    await client.mine({ blocks: 5, interval: 100 })
    const after = await client.getBlock({ blockNumber: before.number + 1n })
    const last = await latest(client as PublicClient)
    expect(last.number).toBe(before.number + 5n)
    expect(last.timestamp - after.timestamp).toBe(400n)
    expect(last.parentHash).toBe((await client.getBlock({ blockNumber: before.number + 4n })).hash)
    await client.mine({ blocks: 2 })
    expect(await client.getBlockNumber()).toBe(before.number + 7n)
  },

  async 'setBlockTimestampInterval and removeBlockTimestampInterval'({ client }) {
    const { timestamp } = await next(client)
    // viem sends milliseconds in mode hardhat, seconds in mode anvil.
    await client.setBlockTimestampInterval({ interval: 50 })
    expect((await next(client)).timestamp).toBe(timestamp + 50n)
    expect((await next(client)).timestamp).toBe(timestamp + 100n)
    await client.removeBlockTimestampInterval()
    expect((await next(client)).timestamp).toBeLessThan(timestamp + 150n)
  },

  async 'snapshot and revert'({ client, owner, fresh }) {
    const before = await latest(client as PublicClient)
    const id = await client.snapshot()
    expect(id).toMatch(/^0x[0-9a-f]+$/)
    const hash = await client.sendTransaction({ account: owner, to: fresh, value: 5n })
    await client.mine({ blocks: 3 })
    expect(await client.getBalance({ address: fresh })).toBe(5n)
    await client.revert({ id })
    expect((await latest(client as PublicClient)).hash).toBe(before.hash)
    expect(await client.getBalance({ address: fresh })).toBe(0n)
    await expect(client.getTransactionReceipt({ hash })).rejects.toThrow(/could not be found/)
    // An id is good for one revert.
    expect(await client.request({ method: 'evm_revert', params: [id] })).toBe(false)
  },

  async sendUnsignedTransaction({ client, owner, fresh }) {
    await client.setBalance({ address: fresh, value: parseEther('1') })
    await client.impersonateAccount({ address: fresh })
    const hash = await client.sendUnsignedTransaction({ from: fresh, to: owner, value: 4n })
    const receipt = await client.waitForTransactionReceipt({ hash })
    expect([receipt.status, receipt.from]).toEqual(['success', fresh])
    await client.stopImpersonatingAccount({ address: fresh })
  },

  async setBalance({ client, fresh }) {
    const before = await client.getBlockNumber()
    await client.setBalance({ address: fresh, value: parseEther('123.5') })
    expect(await client.getBalance({ address: fresh })).toBe(parseEther('123.5'))
    expect(await client.getBlockNumber()).toBe(before)
  },

  async setBlockGasLimit({ client }) {
    const { gasLimit } = await latest(client as PublicClient)
    await client.setBlockGasLimit({ gasLimit: 12_345_678n })
    expect((await next(client)).gasLimit).toBe(12_345_678n)
    expect((await next(client)).gasLimit).toBe(12_345_678n)
    await client.setBlockGasLimit({ gasLimit })
    expect((await next(client)).gasLimit).toBe(gasLimit)
  },

  async setCode({ client, fresh }) {
    const runtime: Hex = `0x${DEPLOY.slice(2 + 24)}`
    await client.setCode({ address: fresh, bytecode: runtime })
    expect(await client.getCode({ address: fresh })).toBe(runtime)
    await client.setStorageAt({ address: fresh, index: 0, value: word(42) })
    // get()
    expect((await client.call({ to: fresh, data: '0x6d4ce63c' })).data).toBe(word(42))
    await client.setCode({ address: fresh, bytecode: '0x' })
    expect(await client.getCode({ address: fresh })).toBeUndefined()
  },

  async setCoinbase({ client, fresh }) {
    const { miner } = await latest(client as PublicClient)
    await client.setCoinbase({ address: fresh })
    expect((await next(client)).miner).toBe(fresh)
    await client.setCoinbase({ address: miner })
    expect((await next(client)).miner).toBe(miner)
  },

  async setIntervalMining({ client, mode }) {
    const before = await client.getBlockNumber()
    await client.setIntervalMining({ interval: 1 })
    try {
      // viem sends the value in the unit that it assumes for each node: in mode hardhat that is
      // milliseconds, a thousand seconds of them.
      expect(Number(await client.request({ method: 'anvil_getIntervalMining' } as never))).toBe(mode === 'hardhat' ? 1000 : 1)
      if (mode === 'anvil') await expect.poll(() => client.getBlockNumber(), { timeout: PATIENCE_MS }).toBeGreaterThanOrEqual(before + 2n)
    } finally {
      await client.setIntervalMining({ interval: 0 })
      await client.setAutomine(true)
    }
    expect(await client.getAutomine()).toBe(true)
  },

  async setLoggingEnabled({ client, node, owner, fresh }) {
    await client.setLoggingEnabled(false)
    const quiet = await client.sendTransaction({ account: owner, to: fresh, value: 1n })
    await client.setLoggingEnabled(true)
    const loud = await client.sendTransaction({ account: owner, to: fresh, value: 1n })
    await expect.poll(() => node.log(), { timeout: PATIENCE_MS }).toContain(loud)
    expect(node.log()).not.toContain(quiet)
  },

  async setMinGasPrice({ client }) {
    // There is no such thing since EIP-1559; both anvil and hardhat say so.
    await expect(client.setMinGasPrice({ gasPrice: GWEI })).rejects.toThrow(/EIP-1559/)
  },

  async setNextBlockBaseFeePerGas({ client }) {
    await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 77n * GWEI })
    expect((await next(client)).baseFeePerGas).toBe(77n * GWEI)
    // Then it moves by the rule again: an empty block takes an eighth off.
    expect((await next(client)).baseFeePerGas).toBe((77n * GWEI * 7n) / 8n)
  },

  async setNextBlockTimestamp({ client, owner, fresh }) {
    const { timestamp } = await next(client)
    await client.setNextBlockTimestamp({ timestamp: timestamp + 5000n })
    const hash = await client.sendTransaction({ account: owner, to: fresh, value: 1n })
    const { blockNumber } = await client.getTransactionReceipt({ hash })
    expect((await client.getBlock({ blockNumber })).timestamp).toBe(timestamp + 5000n)
    await expect(client.setNextBlockTimestamp({ timestamp: timestamp - 1n })).rejects.toThrow(/timestamp/i)
  },

  async setNonce({ client, owner, fresh }) {
    await client.setBalance({ address: fresh, value: parseEther('1') })
    await client.setNonce({ address: fresh, nonce: 9 })
    expect(await client.getTransactionCount({ address: fresh })).toBe(9)
    await client.impersonateAccount({ address: fresh })
    const hash = await client.sendTransaction({ account: fresh, to: owner, value: 1n })
    expect((await client.getTransaction({ hash })).nonce).toBe(9)
    expect(await client.getTransactionCount({ address: fresh })).toBe(10)
    await client.stopImpersonatingAccount({ address: fresh })
  },

  async setRpcUrl({ client }) {
    // Without a fork there is nothing to fetch from: the URL has no effect, and the chain does not
    // change.
    const before = await client.getBlockNumber()
    await client.setRpcUrl('http://127.0.0.1:9')
    expect(await client.getBlockNumber()).toBe(before)
  },

  async setStorageAt({ client, fresh }) {
    await client.setStorageAt({ address: fresh, index: 1, value: word(7) })
    await client.setStorageAt({ address: fresh, index: word(2), value: word(8) })
    expect(await client.getStorageAt({ address: fresh, slot: '0x1' })).toBe(word(7))
    expect(await client.getStorageAt({ address: fresh, slot: '0x2' })).toBe(word(8))
    await client.setStorageAt({ address: fresh, index: 1, value: word(0) })
    expect(await client.getStorageAt({ address: fresh, slot: '0x1' })).toBe(word(0))
  },

  async reset({ client, owner, fresh }) {
    await client.sendTransaction({ account: owner, to: fresh, value: 5n })
    await client.reset()
    expect(await client.getBlockNumber()).toBe(0n)
    expect(await client.getBalance({ address: fresh })).toBe(0n)
    expect(await client.getBalance({ address: owner })).toBe(parseEther('10000'))
    expect(await client.getTransactionCount({ address: owner })).toBe(0)
    const hash = await client.sendTransaction({ account: owner, to: fresh, value: 5n })
    expect((await client.getTransactionReceipt({ hash })).blockNumber).toBe(1n)
  },
}
