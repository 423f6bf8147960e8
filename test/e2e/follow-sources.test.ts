// hearth follow by other sources than a witness: values without proofs where that is accepted, and
// proofs of the blocks that are too far below the head for a witness.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Calls } from './dev-calls.ts'
import { caughtUp, compared, type DevUpstream, devUpstream, FaultProxy, readyOf, startFollower, TRACERS } from './follow-nodes.ts'
import { makeWorkplace, work } from './follow-workload.ts'
import { hearth, type RunningNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

/** Furthest block below the head of which the upstream gives a witness. */
const LOOKBACK = 3

const WITNESS = ['debug_executionWitness', 'debug_executionWitnessByHash', 'debug_executionWitnessByBlockHash']

let upstream: DevUpstream
let calls: Calls
beforeAll(async () => {
  upstream = await devUpstream(`--evm.max_trie_lookback_blocks=${LOOKBACK}`)
  calls = new Calls(upstream.url)
  await work(calls, await makeWorkplace(calls), { rounds: 6 })
})
afterAll(async () => {
  expect(await upstream.stop()).toBe(0)
})

const statusOf = (home: string): Record<string, unknown> =>
  JSON.parse(hearth(['status', '--home', home, '--json']).stdout) as Record<string, unknown>

const metricsOf = async (node: RunningNode): Promise<string> => await (await fetch(node.metrics as string)).text()

const verifiedBy = async (url: string): Promise<string | null> => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'debug_traceBlockByNumber', params: ['0x2', { tracer: 'callTracer' }] })
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return answer.headers.get('x-hearth-verified')
}

/** The answers of the upstream, whose chain stays as it is. */
const answers = new Map<string, string>()

/** The follower must have the answers of its upstream about every block. */
async function sameAnswers(node: RunningNode): Promise<void> {
  const range = { from: 1, to: await calls.height() }
  const { different, same } = await compared([upstream.url, node.url], { ...range, tracers: TRACERS, exact: true, answers })
  expect(different).toEqual([])
  expect(same).toBeGreaterThan(range.to * TRACERS.length)
}

describe('an upstream that proves nothing', () => {
  let proxy: FaultProxy
  beforeAll(async () => {
    proxy = await FaultProxy.to(upstream.url)
    for (const method of [...WITNESS, 'eth_getProof']) proxy.hidden.add(method)
  })
  afterAll(() => proxy.close())

  it('is refused, and the error names the setting', async () => {
    const refused = await startFollower(tempHome(), proxy.url, '--genesis', upstream.genesis).catch((e: Error) => e.message)
    expect(refused).toContain('the node ended with 1')
    expect(refused).toContain('it can only give values without proofs')
    expect(refused).toContain('follow.verify = "executed" accepts that')
  })

  it('is followed where that is accepted, which every place says', async () => {
    const home = tempHome()
    const node = await startFollower(home, proxy.url, '--genesis', upstream.genesis, '--from', '1', '--follow.verify=executed')
    await caughtUp(node.url, upstream.url)
    await sameAnswers(node)
    const last = await calls.height()
    expect(statusOf(home)).toMatchObject({ ready: true, followHoles: 0, followedBlocks: { proven: 0, executed: last } })
    expect(await metricsOf(node)).toMatch(new RegExp(`^follow_blocks_total\\{verified="executed"\\} ${last}$`, 'm'))
    expect(await verifiedBy(node.url)).toBe('executed')
    expect(node.log()).toContain('prestate')
    expect(await node.stop()).toBe(0)
    // With the default again: what was accepted before stays, and nothing more is taken.
    const strict = await startFollower(home, proxy.url)
    await until('the refusal', async () =>
      (await readyOf(strict.url)).reasons.some((reason) => reason.includes('follow.verify = "executed"')),
    )
    expect(await verifiedBy(strict.url)).toBe('executed')
    expect(await strict.stop()).toBe(0)
  })
})

describe('blocks far below the head of the upstream', () => {
  const refused = async (number: number): Promise<string> =>
    (await calls.refused('debug_executionWitness', `0x${number.toString(16)}`)).message

  it('have no witness, which the error explains', async () => {
    const last = await calls.height()
    await calls.call('debug_executionWitness', `0x${(last - LOOKBACK).toString(16)}`)
    expect(await refused(last - LOOKBACK - 1)).toBe(
      `block ${last - LOOKBACK - 1} is ${LOOKBACK + 1} blocks below the head, and the state trie is computed for at most ${LOOKBACK} (evm.max_trie_lookback_blocks)`,
    )
  })

  it('are proven by eth_getProof', async () => {
    const home = tempHome()
    const node = await startFollower(home, upstream.url, '--genesis', upstream.genesis, '--from', '1')
    await caughtUp(node.url, upstream.url)
    await sameAnswers(node)
    const last = await calls.height()
    expect(statusOf(home)).toMatchObject({ followHoles: 0, followedBlocks: { proven: last, executed: 0 } })
    expect(node.log()).toContain('blocks come by another source')
    expect(node.log()).toContain('evm.max_trie_lookback_blocks')
    expect(await node.stop()).toBe(0)
  })

  it('are executed where nothing proves them and that is accepted', async () => {
    const proxy = await FaultProxy.to(upstream.url)
    proxy.hidden.add('eth_getProof')
    const home = tempHome()
    const node = await startFollower(home, proxy.url, '--genesis', upstream.genesis, '--from', '1', '--follow.verify=executed')
    await caughtUp(node.url, upstream.url)
    await sameAnswers(node)
    const last = await calls.height()
    const { proven, executed } = statusOf(home).followedBlocks as { proven: number; executed: number }
    expect([proven + executed, executed > 0, proven > 0]).toEqual([last, true, true])
    expect(await node.stop()).toBe(0)
    await proxy.close()
  })
})
