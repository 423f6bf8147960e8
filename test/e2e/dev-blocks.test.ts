// Blocks and time of a development node: mining in all its forms, snapshots, rollbacks,
// reorganisations, and traces of them.
import fs from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ALICE, type Block, BOB, Calls } from './dev-calls.ts'
import { type RunningNode, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const home = tempHome()
const TO = '0x00000000000000000000000000000000000000aa'
/** Stores its calldata in slot 0: PUSH0 CALLDATALOAD PUSH0 SSTORE. */
const STORE = '0x5f355f5500'
const STORER = '0x00000000000000000000000000000000000000c0'

let node: RunningNode
let dev: Calls
let clean: string

beforeAll(async () => {
  node = await startNode(['dev', '--home', home])
  dev = new Calls(node.url)
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})
beforeEach(async () => {
  await dev.call('anvil_reset')
  clean = await dev.call<string>('evm_snapshot')
  expect(clean).toMatch(/^0x/)
})

describe('mining', () => {
  it('makes blocks on demand, in every form', async () => {
    expect(await dev.call('evm_mine')).toBe('0x0')
    expect(await dev.height()).toBe(1)
    expect(await dev.call('anvil_mine')).toBeNull()
    expect(await dev.call('anvil_mine', '0x3')).toBeNull()
    expect(await dev.call('hardhat_mine', 2)).toBe(true)
    expect(await dev.height()).toBe(7)
    expect(await dev.call('evm_mine', { blocks: 2 })).toBe('0x0')
    expect(await dev.height()).toBe(9)
    const blocks = await dev.call<Block[]>('anvil_mine_detailed', { blocks: 2 })
    expect(blocks.map((block) => Number(block.number))).toEqual([10, 11])
    expect(blocks[1]).toEqual(await dev.call('eth_getBlockByNumber', '0xb', true))
    expect(await dev.call('hardhat_mine', '0x0')).toBe(true)
    expect(await dev.height()).toBe(11)
  })

  it('keeps the intervals that it is set to', async () => {
    const start = await dev.time()
    await dev.call('anvil_mine', '0x3', '0x64')
    expect(await dev.time()).toBe(start + 300)
    await dev.call('hardhat_mine', '0x3', '0x3e8')
    const [first, last] = [await dev.time('0x4'), await dev.time('0x6')]
    expect(last - first).toBe(2000)
    expect(first).toBeLessThan(start + 300 + 60)
    expect(first).toBeGreaterThan(start + 300)
  })

  it('takes transactions one by one, together, or not at all', async () => {
    await dev.send(ALICE, TO, { value: '0x1' })
    expect(await dev.height()).toBe(1)
    await dev.call('evm_setAutomine', false)
    expect(await dev.call('anvil_getAutomine')).toBe(false)
    expect(await dev.call('hardhat_getAutomine')).toBe(false)
    const hashes = [
      await dev.send(ALICE, TO, { value: '0x1' }),
      await dev.send(ALICE, TO, { value: '0x1' }),
      await dev.send(BOB, TO, { value: '0x1' }),
    ]
    expect(await dev.height()).toBe(1)
    expect(await dev.call('eth_getTransactionReceipt', hashes[0])).toBeNull()
    expect((await dev.block('pending')).transactions).toHaveLength(3)
    await dev.call('evm_mine')
    const { transactions } = await dev.block()
    expect([...transactions].sort()).toEqual([...hashes].sort())
    expect(transactions.indexOf(hashes[0] as string)).toBeLessThan(transactions.indexOf(hashes[1] as string))
    expect(await dev.balance(TO)).toBe(4n)
    // What waits when automine comes back is made blocks of.
    await dev.send(ALICE, TO, { value: '0x1' })
    await dev.call('evm_setAutomine', true)
    expect(await dev.balance(TO)).toBe(5n)
  })

  it('makes blocks at an interval until it is set to another one', async () => {
    expect(await dev.call('anvil_getIntervalMining')).toBeNull()
    await dev.call('evm_setIntervalMining', 1)
    expect(await dev.call('anvil_getIntervalMining')).toBe(1)
    expect(await dev.call('anvil_getAutomine')).toBe(false)
    const before = await dev.height()
    const hash = await dev.send(ALICE, TO, { value: '0x1' })
    expect(await dev.call('eth_getTransactionReceipt', hash)).toBeNull()
    await until('two blocks', async () => (await dev.height()) > before + 1)
    expect(await dev.call('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
    await dev.call('evm_setIntervalMining', 0)
    expect(await dev.call('anvil_getIntervalMining')).toBeNull()
    const after = await dev.height()
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(await dev.height()).toBe(after)
  })

  it('makes the next block with the values that were set', async () => {
    await dev.call('hardhat_setCoinbase', TO)
    await dev.call('hardhat_setPrevRandao', `0x${'42'.repeat(32)}`)
    await dev.call('anvil_setNextBlockBaseFeePerGas', '0x77')
    expect(await dev.call('evm_setBlockGasLimit', '0x1312d00')).toBe(true)
    await dev.call('evm_mine')
    const block = await dev.block()
    expect(block).toMatchObject({ miner: TO, mixHash: `0x${'42'.repeat(32)}`, baseFeePerGas: '0x77', gasLimit: '0x1312d00' })
    await dev.call('evm_mine')
    const next = await dev.block()
    expect(next).toMatchObject({ miner: TO, gasLimit: '0x1312d00' })
    expect(next.mixHash).not.toBe(block.mixHash)
    expect(Number(next.baseFeePerGas)).toBe(0x77 - Math.floor(0x77 / 8))
    expect(await dev.refused('hardhat_setMinGasPrice', '0x5')).toEqual({
      code: -32602,
      message: 'anvil_setMinGasPrice is not supported when EIP-1559 is active',
    })
  })
})

describe('time', () => {
  it('goes forward as it is set, and never back', async () => {
    const start = await dev.time()
    expect(await dev.call('evm_increaseTime', 3600)).toBeGreaterThanOrEqual(3600)
    await dev.call('evm_mine')
    expect(await dev.time()).toBeGreaterThanOrEqual(start + 3600)
    const next = (await dev.time()) + 1000
    await dev.call('evm_setNextBlockTimestamp', next)
    await dev.call('evm_mine')
    expect(await dev.time()).toBe(next)
    await dev.call('evm_mine')
    expect(await dev.time()).toBeLessThan(next + 60)
    await dev.call('evm_mine', next + 500)
    expect(await dev.time()).toBe(next + 500)
    await dev.call('anvil_setBlockTimestampInterval', 7)
    await dev.call('anvil_mine', 2)
    expect(await dev.time()).toBe(next + 514)
    expect(await dev.call('anvil_removeBlockTimestampInterval')).toBe(true)
    expect(await dev.call('anvil_removeBlockTimestampInterval')).toBe(false)
    await dev.call('evm_setTime', next + 5000)
    await dev.call('evm_mine')
    expect((await dev.time()) - next).toBeGreaterThanOrEqual(5000)

    const head = await dev.block()
    for (const method of ['evm_setNextBlockTimestamp', 'evm_mine'])
      expect(await dev.refused(method, 1)).toEqual({ code: -32602, message: "Timestamp error: 1 is lower than previous block's timestamp" })
    expect(await dev.refused('evm_setNextBlockTimestamp', head.timestamp)).toMatchObject({ code: -32602 })
    expect(await dev.refused('evm_setTime', 1)).toMatchObject({ code: -32602 })
    expect(await dev.refused('evm_increaseTime', '0xffffffffffffffff')).toMatchObject({ code: -32602 })
    expect(await dev.refused('evm_increaseTime', -5)).toMatchObject({ code: -32602 })
    expect(await dev.refused('hardhat_mine', '0x2', '0xffffffffffffffff')).toMatchObject({ code: -32602 })
    expect(await dev.refused('hardhat_mine', '0xffffffffff')).toMatchObject({ code: -32602 })
    expect(await dev.block()).toEqual(head)
  })
})

describe('snapshots', () => {
  it('bring back blocks, state, time and what waits', async () => {
    await dev.call('anvil_setBalance', TO, '0x5')
    await dev.call('evm_setAutomine', false)
    const waiting = await dev.send(ALICE, TO, { value: '0x1' })
    const [height, time] = [await dev.height(), await dev.time()]
    const id = await dev.call<string>('evm_snapshot')
    const later = await dev.call<string>('evm_snapshot')
    expect(Number(later)).toBe(Number(id) + 1)
    await dev.call('anvil_setBalance', TO, '0x7')
    await dev.call('evm_increaseTime', 100_000)
    await dev.call('anvil_mine', '0x5')
    expect(await dev.balance(TO)).toBe(8n)
    expect(await dev.call('evm_revert', id)).toBe(true)
    expect([await dev.height(), await dev.balance(TO)]).toEqual([height, 5n])
    expect(await dev.call('txpool_status')).toEqual({ pending: '0x1', queued: '0x0' })
    await dev.call('evm_mine')
    expect((await dev.block()).transactions).toEqual([waiting])
    expect((await dev.time()) - time).toBeLessThan(1000)
    expect(await dev.balance(TO)).toBe(6n)
    // An id is good once, and those after it are gone.
    for (const gone of [id, later, '0xffff', `0x${'f'.repeat(64)}`]) expect(await dev.call('evm_revert', gone)).toBe(false)
    await dev.call('evm_setAutomine', true)
    expect(await dev.call('evm_revert', clean)).toBe(true)
    expect([await dev.height(), await dev.balance(TO)]).toEqual([0, 0n])
  })

  it('leave traces right: of earlier, later and repeated blocks', async () => {
    await dev.call('anvil_setCode', STORER, STORE)
    await dev.call('anvil_setStorageAt', STORER, '0x0', `0x${'00'.repeat(31)}01`)
    const first = await dev.send(ALICE, STORER, { data: `0x${'00'.repeat(31)}02`, gas: '0x186a0' })
    const prestate = async (hash: string, diffMode = false): Promise<Record<string, { storage?: Record<string, string> }>> =>
      await dev.trace(hash, 'prestateTracer', { diffMode })
    const word = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`
    const storage = async (hash: string): Promise<unknown> => (await prestate(hash))[STORER]?.storage
    expect(await storage(first)).toEqual({ [word(0)]: word(1) })
    const id = await dev.call<string>('evm_snapshot')
    const made = async (before: number): Promise<string> => {
      await dev.call('anvil_setStorageAt', STORER, '0x0', word(before))
      await dev.call('evm_setNextBlockTimestamp', (await dev.time()) + 1000)
      return await dev.send(ALICE, STORER, { data: word(9), gas: '0x186a0', nonce: '0x1', gasPrice: '0x77359400' })
    }
    const once = await made(5)
    const onceBlock = await dev.block()
    expect([await storage(first), await storage(once)]).toEqual([{ [word(0)]: word(1) }, { [word(0)]: word(5) }])
    await dev.call('evm_revert', id)
    const twice = await made(6)
    const twiceBlock = await dev.block()
    // The same transaction at the same time leaves the same state; only the state before it
    // differs, and therefore the block.
    expect(twice).toBe(once)
    expect(twiceBlock.stateRoot).toBe(onceBlock.stateRoot)
    expect(twiceBlock.hash).not.toBe(onceBlock.hash)
    expect([await storage(first), await storage(twice)]).toEqual([{ [word(0)]: word(1) }, { [word(0)]: word(6) }])
    const diff = await dev.trace<{ pre: Record<string, unknown>; post: Record<string, unknown> }>(twice, 'prestateTracer', {
      diffMode: true,
    })
    expect(diff.pre[STORER]).toMatchObject({ storage: { [word(0)]: word(6) } })
    expect(diff.post[STORER]).toMatchObject({ storage: { [word(0)]: word(9) } })
    const byHash = async (hash: string): Promise<unknown> =>
      (await dev.call<{ result: Record<string, { storage?: unknown }> }[]>('debug_traceBlockByHash', hash, { tracer: 'prestateTracer' }))[0]
        ?.result[STORER]?.storage
    expect(await byHash(twiceBlock.hash)).toEqual({ [word(0)]: word(6) })
    expect(await byHash(onceBlock.hash)).toEqual({ [word(0)]: word(5) })
  })
})

describe('blocks that go', () => {
  it('are rolled back with their state', async () => {
    const hash = await dev.send(ALICE, TO, { value: '0x5' })
    await dev.call('anvil_mine', '0x3')
    expect(await dev.call('anvil_rollback')).toBeNull()
    expect(await dev.height()).toBe(3)
    expect(await dev.call('anvil_rollback', 3)).toBeNull()
    expect([await dev.height(), await dev.balance(TO)]).toEqual([0, 0n])
    expect(await dev.call('eth_getTransactionReceipt', hash)).toBeNull()
    expect(await dev.call('eth_getTransactionByHash', hash)).toBeNull()
    expect(await dev.refused('anvil_rollback', 1)).toEqual({
      code: -32602,
      message: 'Rollback depth must not exceed current chain height: current height 0, depth 1',
    })
    expect(Number(await dev.call('eth_getTransactionCount', ALICE, 'latest'))).toBe(0)
  })

  it('are replaced by others, and their transactions wait again', async () => {
    const [first, second] = [await dev.send(ALICE, TO, { value: '0x1' }), await dev.send(ALICE, TO, { value: '0x2' })]
    const old = await dev.block()
    expect(await dev.call('anvil_reorg', 1, [])).toBeNull()
    expect(await dev.height()).toBe(2)
    expect((await dev.block()).hash).not.toBe(old.hash)
    expect(await dev.balance(TO)).toBe(1n)
    expect(await dev.call('eth_getTransactionReceipt', first)).toMatchObject({ blockNumber: '0x1' })
    expect(await dev.call('eth_getTransactionReceipt', second)).toBeNull()
    expect(await dev.call('eth_getTransactionByHash', second)).toMatchObject({ blockHash: null, hash: second })
    await dev.call('evm_mine')
    expect(await dev.call('eth_getTransactionReceipt', second)).toMatchObject({ blockNumber: '0x3', status: '0x1' })
    expect(await dev.balance(TO)).toBe(3n)
    expect(await dev.trace(second, 'callTracer')).toMatchObject({ from: ALICE, to: TO, value: '0x2' })

    const pair = [{ from: BOB, to: TO, value: '0x64', gas: '0x5208' }, 1]
    expect(await dev.call('anvil_reorg', 2, [pair])).toBeNull()
    const head = await dev.block()
    expect([Number(head.number), head.transactions.length]).toEqual([3, 1])
    expect(await dev.balance(TO)).toBe(101n)
    expect(await dev.call('eth_getTransactionByHash', head.transactions[0])).toMatchObject({ from: BOB, to: TO })
    expect(await dev.refused('anvil_reorg', 1, [[{ from: BOB, to: TO }, 1]])).toMatchObject({
      code: -32602,
      message: expect.stringContaining('(depth-1) 0'),
    })
    expect(await dev.refused('anvil_reorg', 1000, [])).toMatchObject({
      message: 'Reorg depth must not exceed current chain height: current height 3, depth 1000',
    })
    expect(await dev.block()).toEqual(head)
  })
})

describe('many blocks', () => {
  it('are made quickly, and each of them is there', async () => {
    const count = 5_000
    const started = performance.now()
    await dev.call('hardhat_mine', `0x${count.toString(16)}`)
    const seconds = (performance.now() - started) / 1000
    expect(await dev.height()).toBe(count)
    expect((await dev.block('0x1234')).number).toBe('0x1234')
    expect(seconds).toBeLessThan(60)
    await dev.call('evm_revert', clean)
    expect(await dev.height()).toBe(0)
  })
})
