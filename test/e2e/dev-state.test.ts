// The state of a development node, edited: visible to all clients at once, in later blocks, in
// traces, proofs and after a restart.
import fs from 'node:fs'
import zlib from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { type DevNode, missing, startNamed } from './dev-node.ts'
import { type RunningNode, startNode, tempHome } from './harness.ts'
import { onPeer } from './peer.ts'
import { until } from './waiting.ts'

const home = tempHome()
const X = '0x00000000000000000000000000000000000000bb'
/** Stores its calldata in slot 0: PUSH0 CALLDATALOAD PUSH0 SSTORE. */
const STORE = '0x5f355f5500'
/** Answers slot 0: PUSH0 SLOAD PUSH0 MSTORE PUSH1 32 PUSH0 RETURN. */
const LOAD = '0x5f545f5260205ff3'
const word = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`

let node: RunningNode
let dev: Calls

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
})

describe('edits', () => {
  it('are seen at once by everyone, under each name', async () => {
    for (const [method, wei] of [
      ['anvil_setBalance', '0x5'],
      ['hardhat_setBalance', '0x06'],
      ['anvil_setBalance', 7],
      ['anvil_setBalance', '8'],
    ] as const) {
      expect(await dev.call(method, X, wei)).toBeNull()
      expect(await dev.balance(X)).toBe(BigInt(wei))
    }
    expect(await dev.call('anvil_addBalance', X, '0x2')).toBeNull()
    expect(await dev.balance(X)).toBe(10n)
    for (const [method, nonce] of [
      ['anvil_setNonce', '0x3'],
      ['hardhat_setNonce', '0x4'],
      ['evm_setAccountNonce', '0x5'],
    ] as const) {
      await dev.call(method, X, nonce)
      expect(await dev.call('eth_getTransactionCount', X, 'latest')).toBe(nonce)
    }
    await dev.call('anvil_setCode', X, LOAD)
    expect(await dev.call('anvil_setStorageAt', X, '0x0', word(42))).toBe(true)
    expect(await dev.call('eth_getCode', X, 'latest')).toBe(LOAD)
    expect(await dev.slot(X)).toBe(42n)
    for (const tag of ['latest', 'pending']) expect(await dev.call('eth_call', { to: X }, tag)).toBe(word(42))
    expect(await dev.call('debug_traceCall', { to: X }, 'latest', { tracer: 'callTracer' })).toMatchObject({ output: word(42) })
    await dev.call('hardhat_setCode', X, '0x')
    expect(await dev.call('eth_getCode', X, 'latest')).toBe('0x')
    expect(await dev.call('eth_getStorageValues', { [X]: [word(0)] }, 'latest')).toEqual({ [X]: [word(42)] })
  })

  it('belong to the states between two blocks everywhere', async () => {
    await dev.call('anvil_setCode', X, STORE)
    await dev.call('anvil_setStorageAt', X, '0x0', word(1))
    const send = (value: number): Promise<string> => dev.send(ALICE, X, { data: word(value), gas: '0x186a0' })
    const first = await send(2)
    await dev.call('anvil_setStorageAt', X, '0x0', word(3))
    await dev.call('anvil_setBalance', X, '0x64')
    const proof = await dev.call<{ balance: string; storageProof: { value: string }[] }>('eth_getProof', X, ['0x0'], 'latest')
    expect([proof.balance, proof.storageProof[0]?.value]).toEqual(['0x64', '0x3'])
    const second = await send(4)
    expect([await dev.slot(X, '0x0'), await dev.slot(X, '0x1'), await dev.slot(X, '0x2')]).toEqual([1n, 3n, 4n])
    expect([await dev.balance(X, '0x0'), await dev.balance(X, '0x1'), await dev.balance(X, '0x2')]).toEqual([0n, 100n, 100n])
    type Pre = Record<string, { balance: string; storage?: Record<string, string> }>
    const [one, two] = [await dev.trace<Pre>(first, 'prestateTracer'), await dev.trace<Pre>(second, 'prestateTracer')]
    expect([one[X]?.storage, one[X]?.balance]).toEqual([{ [word(0)]: word(1) }, '0x0'])
    expect([two[X]?.storage, two[X]?.balance]).toEqual([{ [word(0)]: word(3) }, '0x64'])
    const before = await dev.call<{ storage: Record<string, { value: string }> }>('debug_storageRangeAt', '0x2', 0, X, '0x', 10)
    expect(Object.values(before.storage).map((entry) => entry.value)).toEqual([word(3)])
    // The state root of the block covers its edited start and its own changes, which a proof at the
    // block shows.
    const after = await dev.call<{ balance: string; storageProof: { value: string }[] }>('eth_getProof', X, ['0x0'], '0x2')
    expect([after.balance, after.storageProof[0]?.value]).toEqual(['0x64', '0x4'])
    const roots = await dev.call<string[]>('debug_intermediateRoots', (await dev.block('0x2')).hash)
    expect(roots).toHaveLength(1)
    // A trace without the block's capsule comes from history, and says the same.
    const access = await dev.call<object>('debug_traceStateAccess', second)
    expect(JSON.stringify(access)).toContain(X)
  })

  it('are what eth_simulateV1 runs on, and part of its state roots', async () => {
    await dev.call('anvil_setCode', X, LOAD)
    await dev.call('anvil_setStorageAt', X, '0x0', word(7))
    const time = `0x${((await dev.time()) + 5).toString(16)}`
    type Simulated = { number: string; stateRoot: string; calls: { status: string; returnData: string }[] }
    const simulate = (block: string): Promise<Simulated[]> =>
      dev.call('eth_simulateV1', { blockStateCalls: [{ blockOverrides: { time } }, { calls: [{ to: X }] }] }, block)
    const simulated = await simulate('latest')
    expect(simulated).toMatchObject([
      { number: '0x1', calls: [] },
      { number: '0x2', calls: [{ status: '0x1', returnData: word(7) }] },
    ])
    await dev.call('evm_setNextBlockTimestamp', time)
    await dev.call('evm_mine')
    expect((await dev.block('0x1')).stateRoot).toBe(simulated[0]?.stateRoot)
    // Later edits belong to the state after the next block.
    await dev.call('anvil_setStorageAt', X, '0x0', word(8))
    expect(await simulate('0x0')).toEqual(simulated)
    const request = { blockStateCalls: [{ calls: [{ to: X }] }] }
    expect(await dev.call('eth_simulateV1', request, 'latest')).toMatchObject([{ number: '0x2', calls: [{ returnData: word(8) }] }])
  })

  it('make no account that is empty, and leave none', async () => {
    const root = (await dev.block()).stateRoot
    await dev.call('anvil_setBalance', X, '0x0')
    await dev.call('anvil_setBalance', BOB, '0x0')
    await dev.call('anvil_setBalance', BOB, `0x${(10_000n * 10n ** 18n).toString(16)}`)
    const proof = await dev.call<{ codeHash: string }>('eth_getProof', X, [], 'latest')
    expect(proof.codeHash).toBe(word(0))
    await dev.call('evm_mine')
    expect((await dev.block()).stateRoot).not.toBe(root)
    expect(await dev.balance(BOB)).toBe(10_000n * 10n ** 18n)
  })

  it('are refused whole where a value does not fit', async () => {
    const refusals: [string, ...unknown[]][] = [
      ['anvil_setBalance', X],
      ['anvil_setBalance', X, `0x1${'0'.repeat(64)}`],
      ['anvil_setBalance', X, -1],
      ['anvil_setBalance', X, 1.5],
      ['anvil_setBalance', 'bob', '0x1'],
      ['anvil_setNonce', X, `0x1${'0'.repeat(16)}`],
      ['anvil_setCode', X, '0x1'],
      ['anvil_setStorageAt', X, '0x0', `0x1${'0'.repeat(64)}`],
      ['anvil_setStorageAt', X, '0x0', 'zz'],
      ['anvil_setNextBlockBaseFeePerGas', `0x1${'0'.repeat(16)}`],
      ['anvil_loadState', '0x00'],
      ['anvil_loadState', '0x1f8b'],
      ['evm_revert', 'zz'],
      ['anvil_impersonateAccount', '0x1'],
    ]
    for (const [method, ...params] of refusals) expect(await dev.refused(method, ...params), method).toMatchObject({ code: -32602 })
    expect(await dev.balance(X)).toBe(0n)
    expect(await dev.height()).toBe(0)
  })
})

describe('impersonation', () => {
  it('sends for accounts without keys, contracts included', async () => {
    const transfer = { from: X, to: BOB, value: '0x1' }
    expect(await dev.refused('eth_sendTransaction', transfer)).toMatchObject({ code: -32000, message: 'unknown account' })
    await dev.call('anvil_setBalance', X, '0xde0b6b3a7640000')
    await dev.call('anvil_setCode', X, LOAD)
    await dev.call('hardhat_impersonateAccount', X)
    expect(await dev.call('eth_accounts')).not.toContain(X)
    const before = await dev.balance(BOB)
    const hash = await dev.call<string>('eth_sendTransaction', transfer)
    expect(await dev.call('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1', from: X, to: BOB })
    expect(await dev.call('eth_getTransactionByHash', hash)).toMatchObject({ from: X, hash })
    expect((await dev.balance(BOB)) - before).toBe(1n)
    expect(await dev.trace(hash, 'callTracer')).toMatchObject({ from: X, to: BOB, value: '0x1' })
    await dev.call('anvil_stopImpersonatingAccount', X)
    expect(await dev.refused('eth_sendTransaction', transfer)).toMatchObject({ message: 'unknown account' })
    await dev.call('anvil_autoImpersonateAccount', true)
    const second = await dev.call<string>('eth_sendTransaction', transfer)
    await dev.call('anvil_autoImpersonateAccount', false)
    const third = await dev.call<string>('eth_sendUnsignedTransaction', transfer)
    expect(new Set([hash, second, third]).size).toBe(3)
    expect((await dev.balance(BOB)) - before).toBe(3n)
    // Two senders with the same fields have two hashes.
    const poor = '0x00000000000000000000000000000000000000ee'
    await dev.call('anvil_setBalance', poor, '0xde0b6b3a7640000')
    const fields = { to: BOB, value: '0x1', nonce: '0x0', gas: '0x5208', gasPrice: '0x77359400' }
    const one = await dev.call<string>('eth_sendUnsignedTransaction', { from: poor, ...fields })
    await dev.call('anvil_setNonce', X, '0x0')
    const two = await dev.call<string>('eth_sendUnsignedTransaction', { from: X, ...fields })
    expect(one).not.toBe(two)
    const penniless = await dev.refused('eth_sendUnsignedTransaction', { ...fields, from: '0x00000000000000000000000000000000000000dd' })
    expect(penniless.message).toMatch(/insufficient funds/i)
  })
})

describe('the pool', () => {
  it('loses what is dropped', async () => {
    await dev.call('evm_setAutomine', false)
    const hashes: string[] = []
    for (const [from, nonce] of [
      [ALICE, 0],
      [ALICE, 5],
      [BOB, 0],
      [BOB, 1],
    ] as const)
      hashes.push(await dev.send(from, X, { value: '0x1', nonce: `0x${nonce.toString(16)}` }))
    expect(await dev.call('txpool_status')).toEqual({ pending: '0x3', queued: '0x1' })
    expect(await dev.call('anvil_dropTransaction', hashes[1])).toBe(hashes[1])
    expect(await dev.call('anvil_dropTransaction', hashes[1])).toBeNull()
    expect(await dev.call('hardhat_dropTransaction', hashes[0])).toBe(true)
    expect(await dev.call('hardhat_dropTransaction', hashes[0])).toBe(false)
    expect(await dev.call('anvil_removePoolTransactions', ALICE)).toBeNull()
    expect(await dev.call('txpool_status')).toEqual({ pending: '0x2', queued: '0x0' })
    expect(await dev.call('anvil_removePoolTransactions', BOB)).toBeNull()
    await dev.send(ALICE, X)
    await dev.call('anvil_dropAllTransactions')
    expect(await dev.call('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    await dev.call('evm_setAutomine', true)
  })
})

describe('tokens', () => {
  it('are dealt in the slot that their balances are in', async () => {
    // balanceOf: keccak(account . 3) is the slot; allowance the same for its first account:
    // CALLDATA 4..36 and 3 are hashed, SLOAD, returned.
    const TOKEN = '0x00000000000000000000000000000000000000f0'
    await dev.call('anvil_setCode', TOKEN, '0x6004355f5260036020526040 5f20545f5260205ff3'.replaceAll(' ', ''))
    const balanceOf = `0x70a08231${X.slice(2).padStart(64, '0')}`
    expect(await dev.call('eth_call', { to: TOKEN, data: balanceOf }, 'latest')).toBe(word(0))
    expect(await dev.call('anvil_dealERC20', X, TOKEN, '0x3e8')).toBeNull()
    expect(await dev.call('eth_call', { to: TOKEN, data: balanceOf }, 'latest')).toBe(word(1000))
    expect(await dev.call('anvil_setERC20Allowance', X, BOB, TOKEN, '0x7')).toBeNull()
    const allowance = `0xdd62ed3e${X.slice(2).padStart(64, '0')}${BOB.slice(2).padStart(64, '0')}`
    expect(await dev.call('eth_call', { to: TOKEN, data: allowance }, 'latest')).toBe(word(7))
    expect(await dev.refused('anvil_dealERC20', X, BOB, '0x1')).toEqual({
      code: -32000,
      message: 'Unable to set ERC20 balance, no slot found',
    })
  })
})

describe('a node as a whole', () => {
  it('says what it is as anvil does', async () => {
    expect(await dev.call('web3_clientVersion')).toMatch(/^anvil\/v\d+\.\d+\.\d+-hearth\//)
    await dev.call('evm_mine')
    const { hash, timestamp } = await dev.block()
    const snapshot = await dev.call<string>('evm_snapshot')
    expect(await dev.call('anvil_nodeInfo')).toMatchObject({
      currentBlockNumber: '0x1',
      currentBlockHash: hash,
      currentBlockTimestamp: Number(timestamp),
      transactionOrder: 'fees',
      environment: { chainId: 31_337, gasLimit: '0x1c9c380' },
      forkConfig: { forkUrl: null, forkBlockNumber: null },
    })
    const metadata = await dev.call<{ instanceId: string }>('hardhat_metadata')
    expect(metadata).toMatchObject({
      chainId: 31_337,
      latestBlockNumber: 1,
      latestBlockHash: hash,
      forkedNetwork: null,
      snapshots: { [snapshot]: [1, hash] },
    })
    expect(metadata).toEqual(await dev.call('anvil_metadata'))
    expect(metadata.instanceId).toMatch(/^0x[0-9a-f]{64}$/)
    for (const method of ['anvil_setLoggingEnabled', 'hardhat_setLoggingEnabled']) expect(await dev.call(method, true)).toBeNull()
    expect(await dev.call('anvil_reset', { forking: { blockNumber: null } })).toBeNull()
    expect(await dev.height()).toBe(0)
  })

  it('has the deployer of CREATE2 contracts', async () => {
    const deployer = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
    // Init code that leaves LOAD as the contract's code.
    const init = `67${LOAD.slice(2)}5f5260086018f3`
    await dev.send(ALICE, deployer, { data: `${word(0)}${init}`, gas: '0x30d40' })
    const address = (await dev.call<string>('eth_call', { to: deployer, data: `${word(1)}${init}` }, 'latest')).slice(0, 42)
    expect(address).toMatch(/^0x[0-9a-f]{40}$/)
  })

  it('dumps its state and takes it back', async () => {
    await dev.call('anvil_setCode', X, LOAD)
    await dev.call('anvil_setStorageAt', X, '0x0', word(9))
    await dev.send(ALICE, BOB, { value: '0x5' })
    const dump = await dev.call<string>('anvil_dumpState')
    const state = JSON.parse(zlib.gunzipSync(Buffer.from(dump.slice(2), 'hex')).toString()) as {
      accounts: Record<string, unknown>
      best_block_number: number
    }
    expect(state.best_block_number).toBe(1)
    expect(state.accounts[X]).toEqual({ nonce: 0, balance: '0x0', code: LOAD, storage: { [word(0)]: word(9) } })
    const balances = [await dev.balance(ALICE), await dev.balance(BOB)]
    await dev.call('hardhat_reset')
    expect(await dev.call('hardhat_loadState', dump)).toBe(true)
    expect([await dev.balance(ALICE), await dev.balance(BOB)]).toEqual(balances)
    expect([await dev.height(), await dev.slot(X), await dev.call('eth_getTransactionCount', ALICE, 'latest')]).toEqual([1, 9n, '0x1'])
  })

  it('takes the state of anvil, which takes its state', async (context) => {
    const why = missing('anvil')
    if (why !== undefined) {
      console.log(`skipped: the state of anvil: ${why}`)
      return context.skip()
    }
    await dev.call('anvil_setCode', X, LOAD)
    await dev.call('anvil_setStorageAt', X, '0x0', word(9))
    await dev.send(ALICE, BOB, { value: '0x5' })
    const dump = await dev.call<string>('anvil_dumpState')
    const bob = await dev.balance(BOB)
    let anvil: DevNode | undefined
    const theirs = await onPeer('anvil', 'a dumped state', async () => {
      anvil = await startNamed('anvil')
      const calls = new Calls(anvil.url)
      expect(await calls.call('anvil_loadState', dump)).toBe(true)
      expect([await calls.slot(X), await calls.balance(BOB)]).toEqual([9n, bob])
      await calls.call('anvil_setStorageAt', X, '0x1', word(77))
      const sent = await calls.send(ALICE, BOB, { value: '0x7' })
      // anvil gives the hash before the block is there.
      await until('the block', async () => (await calls.call('eth_getTransactionReceipt', sent)) !== null)
      const balances = [await calls.balance(ALICE), await calls.balance(BOB)]
      return { dump: await calls.call<string>('anvil_dumpState'), balances, height: await calls.height() }
    })
    await anvil?.stop()
    if (theirs === undefined) return
    await dev.call('anvil_reset')
    expect(await dev.call('anvil_loadState', theirs.dump)).toBe(true)
    expect([await dev.slot(X), await dev.slot(X, 'latest', '0x1')]).toEqual([9n, 77n])
    expect([await dev.balance(ALICE), await dev.balance(BOB)]).toEqual(theirs.balances)
    expect(await dev.height()).toBe(theirs.height)
    const hash = await dev.send(ALICE, BOB, { value: '0x1' })
    expect(await dev.call('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
  })
})

describe('a home with edits', () => {
  it('keeps them over a restart, of blocks and pending ones', async () => {
    const own = tempHome()
    const first = await startNode(['dev', '--home', own])
    const calls = new Calls(first.url)
    await calls.call('anvil_setBalance', X, '0x5')
    await calls.call('evm_mine')
    await calls.call('anvil_setBalance', X, '0x6')
    await calls.call('anvil_setCode', X, LOAD)
    expect(await first.stop('SIGKILL')).toBe('SIGKILL')
    const second = await startNode(['dev', '--home', own])
    const again = new Calls(second.url)
    expect([await again.balance(X, '0x0'), await again.balance(X, '0x1'), await again.height()]).toEqual([5n, 6n, 1])
    expect(await again.call('eth_getCode', X, 'latest')).toBe(LOAD)
    await again.call('evm_mine')
    expect(await again.balance(X, '0x2')).toBe(6n)
    expect(await second.stop()).toBe(0)
    // A node that only serves the home reads the same.
    const third = await startNode(['start', '--home', own])
    const served = new Calls(third.url)
    expect([await served.balance(X, '0x0'), await served.balance(X, '0x1')]).toEqual([5n, 6n])
    expect(await served.refused('anvil_setBalance', X, '0x1')).toMatchObject({ code: -32601 })
    expect(await served.refused('eth_sendUnsignedTransaction', { from: X })).toMatchObject({ code: -32601 })
    expect(await served.call('web3_clientVersion')).toMatch(/^hearth\/v\d/)
    expect(await third.stop()).toBe(0)
    fs.rmSync(own, { recursive: true, force: true })
  })
})
