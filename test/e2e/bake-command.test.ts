// hearth bake: on a home that no node has open, and through the node that has it open; import never
// bakes; refusals.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ALL_TRACERS, BAKING, metric, Sender, startDev, TRACERS, trace } from './bake-node.ts'
import { hearth, rpc, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const homes: string[] = []

/** A home with blocks that are not baked. */
async function unbaked(blocks: number): Promise<{ home: string; hashes: `0x${string}`[] }> {
  const home = tempHome()
  homes.push(home)
  const node = await startDev(home, '--state-commit.flatkv.fsync=none')
  const hashes = await new Sender(node).transfers(blocks)
  expect(await node.stop()).toBe(0)
  return { home, hashes }
}

afterAll(() => {
  for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
})

describe('hearth bake', () => {
  it('bakes a range, skips baked blocks, and the node serves it', async () => {
    const { home, hashes } = await unbaked(6)
    const first = hearth(['bake', '--home', home, '--from', '2', '--to', '0x4', '--json', ALL_TRACERS])
    expect([first.status, first.stderr]).toEqual([0, ''])
    const report = JSON.parse(first.stdout)
    expect(report).toMatchObject({ total: 3, done: 3, baked: 3, known: 0, failed: 0, failures: [], finished: true, stopped: null })
    expect(report.gas).toBe(3 * 21_000)
    const second = hearth(['bake', '--home', home, ALL_TRACERS])
    expect(second.stdout).toMatch(/^baked 3 blocks \([\d.]+ \w+\) in \d+s, 3 were baked already\n$/)
    const node = await startDev(home, ...BAKING, ALL_TRACERS)
    for (const hash of hashes) {
      for (const tracer of TRACERS) expect((await trace(node.url, 'debug_traceTransaction', [hash, { tracer }])).from).toBe('baked')
    }
    expect(await metric(node, 'bake_baked_blocks_total')).toBe(0)
    expect(await node.stop()).toBe(0)
  })

  it('asks the node that has the home', async () => {
    const { home, hashes } = await unbaked(5)
    const node = await startDev(home, ...BAKING)
    expect((await trace(node.url, 'debug_traceTransaction', [hashes[1], { tracer: 'callTracer' }])).from).toBe('capsule')
    const asked = hearth(['bake', '--home', home, '--from', '2', '--to', '3', '--json'])
    expect([asked.status, JSON.parse(asked.stdout)]).toMatchObject([0, { total: 2, baked: 2, failed: 0, finished: true }])
    expect(asked.stderr).toContain('a node runs on this data directory')
    const origins = []
    for (const hash of hashes) origins.push((await trace(node.url, 'debug_traceTransaction', [hash, { tracer: 'callTracer' }])).from)
    expect(origins).toEqual(['capsule', 'baked', 'baked', 'capsule', 'capsule'])
    expect(fs.readdirSync(path.join(home, 'data/requests'))).toEqual(['node'])
    const beyond = hearth(['bake', '--home', home, '--to', '9'])
    expect([beyond.status, beyond.stdout]).toEqual([
      1,
      expect.stringContaining('stopped before the end: blocks 1 to 9 were requested; this node has blocks 1 to 5'),
    ])
    expect(await node.stop()).toBe(0)
  })

  it('says what the node that has the home must be started with', async () => {
    const { home } = await unbaked(1)
    const node = await startDev(home)
    const asked = hearth(['bake', '--home', home])
    expect(asked.status).toBe(1)
    expect(asked.stderr).toContain('which does not bake: start it with evm.trace_bake_enabled = true, or stop it')
    expect(await node.stop()).toBe(0)
  })

  it('refuses unknown heights, and impossible settings', async () => {
    const { home } = await unbaked(2)
    const refused = (...args: string[]) => {
      const { status, stderr } = hearth(['bake', '--home', home, ...args])
      return [status, stderr]
    }
    const there = 'this node has blocks 1 to 2'
    expect(refused('--to', '3')).toEqual([1, expect.stringContaining(`blocks 1 to 3 were requested; ${there}`)])
    expect(refused('--from', '0')).toEqual([1, expect.stringContaining(`blocks 0 to 2 were requested; ${there}`)])
    expect(refused('--from', '2', '--to', '1')).toEqual([2, expect.stringContaining('--from 2 is above --to 1')])
    expect(refused('--from', 'x')).toEqual([2, expect.stringContaining('--from takes a height, not "x"')])
    const settings = [
      ['trace_bake_tracers=muxTracer', 'evm.trace_bake_tracers takes a list of at least one of callTracer, prestateTracer, flatCallTracer'],
      ['trace_bake_workers=0', 'evm.trace_bake_workers takes an integer from 1 to 1024'],
      ['trace_bake_queue_size=0', 'evm.trace_bake_queue_size takes an integer from 1'],
      ['trace_bake_window_blocks=-1', 'evm.trace_bake_window_blocks takes'],
      ['trace_bake_snapshot_window=0', 'evm.trace_bake_snapshot_window takes an integer from 1'],
      ['trace_bake_timeout=0s', 'evm.trace_bake_timeout takes'],
    ]
    for (const [setting = '', why = ''] of settings) expect(refused(`--evm.${setting}`)).toEqual([2, expect.stringContaining(why)])
  })
})

describe('hearth import', () => {
  it('never bakes; the next start bakes its blocks from there on', async () => {
    const { home } = await unbaked(4)
    const chain = path.join(home, 'chain.rlp')
    expect(hearth(['export', '--home', home, chain]).status).toBe(0)
    const copy = tempHome()
    homes.push(copy)
    const genesis = path.join(home, 'config/genesis.json')
    const imported = hearth(['import', '--home', copy, '--genesis', genesis, chain, '--evm.trace_bake_enabled=true'])
    expect(imported.status).toBe(0)
    expect(fs.existsSync(path.join(copy, 'data/trace_db'))).toBe(false)
    const node = await startNode(['start', '--home', copy, ...BAKING])
    await until('the node', async () => (await rpc(node.url, 'eth_blockNumber')).result === '0x4')
    expect((await trace(node.url, 'debug_traceBlockByNumber', ['latest', { tracer: 'callTracer' }])).from).toBe('capsule')
    expect(await metric(node, 'bake_baked_blocks_total')).toBe(0)
    expect(await node.stop()).toBe(0)
  })
})
