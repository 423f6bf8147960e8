// hearth follow with Hearth as upstream: every answer about its chain is that of the upstream, what
// needs state goes there, reorgs and restarts are followed, and what cannot be followed is refused.
import path from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { FIXTURES, fixtures } from '../conformance/fixtures.ts'
import { DEPLOY } from './contract.ts'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { set } from './dev-requests.ts'
import {
  blockAt,
  caughtUp,
  compared,
  type DevUpstream,
  devUpstream,
  importedHome,
  OWN_TRACERS,
  readyOf,
  result,
  startFollower,
  TRACERS,
} from './follow-nodes.ts'
import { hearth, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const RPC_COMPAT = path.join(FIXTURES, 'rpc-compat')

describe('a chain from its first block on', () => {
  const [genesis, chain] = ['genesis.json', 'chain.rlp'].map((name) => path.join(RPC_COMPAT, name)) as [string, string]
  const isThere = fixtures('rpc-compat') !== undefined

  it.skipIf(!isThere)('has the same answers as its upstream, byte for byte', async () => {
    const upstream = await startNode(['start', '--home', importedHome(genesis, chain)])
    const home = tempHome()
    const follower = await startFollower(home, upstream.url, '--genesis', genesis, '--from', '1')
    await caughtUp(follower.url, upstream.url)
    const { same, different } = await compared([upstream.url, follower.url], {
      from: 1,
      to: 54,
      tracers: [...TRACERS, ...OWN_TRACERS],
      exact: true,
      more: [['debug_getRawBlock'], ['trace_block'], ['trace_replayBlockTransactions', ['trace', 'stateDiff', 'vmTrace']]],
    })
    expect(different).toEqual([])
    expect(same).toBeGreaterThan(3000)
    const status = JSON.parse(hearth(['status', '--home', home, '--json']).stdout) as Record<string, unknown>
    expect(status).toMatchObject({ ready: true, height: 54, upstream: upstream.url, followLagBlocks: 0, followHoles: 0 })
    expect(status.followedBlocks).toEqual({ proven: 54, executed: 0 })
    expect(await follower.stop()).toBe(0)
    expect(await upstream.stop()).toBe(0)
  })
})

describe('a chain that grows', () => {
  let upstream: DevUpstream
  let dev: Calls
  let contract = ''
  const running: RunningNode[] = []
  beforeAll(async () => {
    upstream = await devUpstream()
    dev = new Calls(upstream.url)
    const hash = await dev.send(ALICE, undefined, { data: DEPLOY, gas: '0xf4240' })
    contract = (await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', hash)).contractAddress
  })
  afterEach(async () => {
    for (const node of running.splice(0)) await node.stop()
  })
  afterAll(async () => {
    expect(await upstream.stop()).toBe(0)
  })

  const follower = async (home: string, ...args: string[]): Promise<RunningNode> => {
    const node = await startFollower(home, upstream.url, '--genesis', upstream.genesis, ...args)
    running.push(node)
    await caughtUp(node.url, upstream.url)
    return node
  }

  it('follows a node from its newest block on', async () => {
    const first = await dev.height()
    const node = await follower(tempHome())
    const hash = await dev.send(ALICE, contract, { data: set(42), gas: '0xf4240' })
    await caughtUp(node.url, upstream.url)
    const { different } = await compared([upstream.url, node.url], { from: first, to: first + 1, tracers: TRACERS, exact: true })
    expect(different).toEqual([])
    expect(await result(node.url, 'debug_traceTransaction', hash, { tracer: 'callTracer' })).toMatchObject({ to: contract })
  })

  it.each([5, 40])('follows a branch of %d blocks, and its logs', async (depth) => {
    await dev.call('anvil_mine', `0x${(depth + 2).toString(16)}`)
    const node = await follower(tempHome(), '--from', '1')
    const filter = await result<string>(node.url, 'eth_newFilter', { address: contract })
    await dev.send(ALICE, contract, { data: set(7), gas: '0xf4240' })
    await caughtUp(node.url, upstream.url)
    const before = await dev.height()
    await dev.call('anvil_reorg', depth, [])
    await dev.send(ALICE, contract, { data: set(8), gas: '0xf4240' })
    await caughtUp(node.url, upstream.url)
    const changes = await result<{ removed: boolean; data: string }[]>(node.url, 'eth_getFilterChanges', filter)
    expect(changes.map(({ removed, data }) => [removed, Number(data)])).toEqual([
      [false, 7],
      [true, 7],
      // The transaction went back to the pool, and into a block of the other branch.
      [false, 7],
      [false, 8],
    ])
    const range = { from: Math.max(1, before - depth - 1), to: before + 1 }
    const { different } = await compared([upstream.url, node.url], { ...range, tracers: TRACERS, exact: true })
    expect(different).toEqual([])
  })

  it('passes on what needs state, about its own head', async () => {
    const node = await follower(tempHome())
    const calls = new Calls(node.url)
    expect(await calls.balance(BOB)).toBe(await dev.balance(BOB))
    expect(await calls.call('eth_getCode', contract, 'latest')).toBe(await dev.call('eth_getCode', contract, 'latest'))
    expect(await calls.slot(contract)).toBe(await dev.slot(contract))
    const call = { from: ALICE, to: contract, data: set(0) }
    expect((await rpc(node.url, 'eth_call', [call, 'latest'])).error).toEqual((await rpc(upstream.url, 'eth_call', [call, 'latest'])).error)
    const traced = [call, 'latest', { tracer: 'callTracer' }]
    expect(await calls.call('debug_traceCall', ...traced)).toEqual(await dev.call('debug_traceCall', ...traced))
    expect(await calls.call('eth_getBlockByNumber', '0x0', false)).toEqual(await dev.call('eth_getBlockByNumber', '0x0', false))
    const page = await (await fetch(node.metrics as string)).text()
    expect(page).toContain('evmrpc_redirected_requests_total{endpoint="eth_getBalance",connection="http"} 1')
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] })
    const answer = await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    expect(answer.headers.get('x-hearth-verified')).toBe('proven')
  })

  it('begins where the setting says, and resumes', async () => {
    const home = tempHome()
    const height = await dev.height()
    const node = await follower(home, '--from', String(height - 2))
    await node.stop()
    await dev.call('anvil_mine', '0x5')
    const again = await follower(home)
    expect(await new Calls(again.url).height()).toBe(height + 5)
    const page = await (await fetch(again.metrics as string)).text()
    expect(page).toMatch(/^follow_blocks_total\{verified="proven"\} 5$/m)
    expect(page).toMatch(/^follow_lag_blocks 0$/m)
  })

  it('holds no state: without an upstream that is an error', async () => {
    const other = await devUpstream()
    const node = await startFollower(tempHome(), other.url, '--genesis', other.genesis, '--follow.timeout=3s')
    running.push(node)
    await new Calls(other.url).call('anvil_mine', '0x2')
    await caughtUp(node.url, other.url)
    await other.stop()
    await until('the reason', async () => (await readyOf(node.url)).status === 'not ready')
    expect((await readyOf(node.url)).reasons[0]).toContain('following: http://127.0.0.1:')
    const { error, result: balance } = await rpc(node.url, 'eth_getBalance', [ALICE, 'latest'])
    expect(balance).toBeUndefined()
    expect(error?.message).toContain('this node holds no state')
    expect((await blockAt(node.url, 'latest')).number).toBe('0x2')
  })

  it('a checkpoint is the block that it begins after', async () => {
    const { hash, number } = await blockAt(upstream.url, '0x2')
    const home = tempHome()
    const node = await follower(home, '--checkpoint', hash)
    expect(node.log()).toContain(`from block 3 on, after ${hash}\n`)
    expect(number).toBe('0x2')
    await node.stop()
    const wrong = await startFollower(home, upstream.url, '--checkpoint', `0x${'12'.repeat(32)}`)
    running.push(wrong)
    await until('the reason', async () => (await readyOf(wrong.url)).reasons.some((reason) => reason.includes('the block 0x1212')))
  })

  it('of other rules, or of no node, is refused', async () => {
    const other = await devUpstream('--chain-id', '7')
    const follow = (...args: string[]) => hearth(['follow', '--home', tempHome(), ...args])
    const wrong = follow('--upstream', upstream.url, '--genesis', other.genesis)
    expect(wrong.status).not.toBe(0)
    expect(wrong.stderr).toContain('genesis')
    const none = follow('--upstream', upstream.url)
    expect(none.stderr).toContain('whose rules are not built in: give --genesis FILE')
    expect(follow('--genesis', other.genesis).stderr).toContain('--upstream is missing')
    const dead = follow('--upstream', 'http://127.0.0.1:1', '--genesis', other.genesis)
    expect(dead.stderr).toContain('error: cannot follow http://127.0.0.1:1: ')
    expect(dead.status).toBe(1)
    await other.stop()
  })
})
