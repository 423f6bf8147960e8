// Faults during baking: the process is killed, the cache is damaged or deleted, the disk is full.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ALL_TRACERS, allBaked, BAKING, CALLER, metric, metricsOf, Sender, startDev, TRACERS, trace } from './bake-node.ts'
import { hearth, type RunningNode, rpc, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const homes: string[] = []

function freshHome(): string {
  const home = tempHome()
  homes.push(home)
  return home
}
afterAll(() => {
  for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
})

/**
 * Compares the served traces of each block with live ones; returns the number that came from the
 * cache.
 */
async function checked(node: RunningNode, blocks: number): Promise<number> {
  let baked = 0
  for (let height = 1; height <= blocks; height++) {
    for (const tracer of TRACERS) {
      const target = `0x${height.toString(16)}`
      const served = await trace(node.url, 'debug_traceBlockByNumber', [target, { tracer }])
      const live = await trace(node.url, 'debug_traceBlockByNumber', [target, { tracer, tracerConfig: {} }])
      expect(live.from).toBe('capsule')
      expect(served.text).toBe(live.text)
      if (served.from === 'baked') baked++
    }
  }
  return baked
}

/** Every file below a folder. */
const filesOf = (dir: string): string[] =>
  fs
    .readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => path.join(e.parentPath, e.name))

describe('kill -9 while baking', () => {
  it('serves no torn trace, loses no whole one, and bakes on', async () => {
    const home = freshHome()
    let blocks = 0
    for (const wait of [0, 30, 120]) {
      const node = await startDev(home, ...BAKING, ALL_TRACERS)
      const had = await checked(node, blocks)
      const sender = new Sender(node)
      blocks += (blocks === 0 ? await sender.scene() : await sender.transfers(8)).length
      await new Promise((resolve) => setTimeout(resolve, wait))
      const there = (await metric(node, 'bake_baked_blocks_total')) * TRACERS.length
      expect(await node.stop('SIGKILL')).toBe('SIGKILL')
      const again = await startDev(home, ...BAKING, ALL_TRACERS)
      // What was put survives the death of the process.
      expect(await checked(again, blocks)).toBeGreaterThanOrEqual(Math.max(had, there))
      await until('the end of catching up', async () => (await metricsOf(again)).get('bake_lag_blocks') === 0)
      await until('all blocks', async () => (await checked(again, blocks)) === blocks * TRACERS.length)
      expect(await again.stop()).toBe(0)
    }
  })
})

describe('a cache that is damaged', () => {
  it('is served live, counted, and baked again', async () => {
    const home = freshHome()
    const first = await startDev(home, ...BAKING)
    await new Sender(first).scene()
    await allBaked(first, 4)
    const { hash } = (await rpc(first.url, 'eth_getBlockByNumber', ['0x2', false])).result as { hash: string }
    expect(await first.stop()).toBe(0)
    const [segment = ''] = filesOf(path.join(home, 'data/trace_db/rows/traces')).sort((a, b) => fs.statSync(b).size - fs.statSync(a).size)
    const bytes = fs.readFileSync(segment)
    // The row's key ends with the hash of the block; its value follows.
    const at = bytes.indexOf(Buffer.from(hash.slice(2), 'hex'))
    expect(at).toBeGreaterThan(0)
    bytes[at + 132] = (bytes[at + 132] as number) ^ 1
    fs.writeFileSync(segment, bytes)
    const node = await startDev(home, ...BAKING)
    await checked(node, 4)
    const samples = await metricsOf(node)
    expect(samples.get('trace_cache_requests_total{result="damaged"}') as number).toBeGreaterThan(0)
    await until('baking it again', async () => (await metric(node, 'bake_baked_blocks_total')) === 1)
    expect(await checked(node, 4)).toBe(4)
    expect(await node.stop()).toBe(0)
  })

  it('may be deleted at any time: it is filled again', async () => {
    const home = freshHome()
    const first = await startDev(home, ...BAKING)
    await new Sender(first).scene()
    await allBaked(first, 4)
    expect(await first.stop()).toBe(0)
    // The progress of baking is deleted with it, so baking restarts with the next block.
    fs.rmSync(path.join(home, 'data/trace_db'), { recursive: true })
    const node = await startDev(home, ...BAKING)
    expect(await checked(node, 4)).toBe(0)
    await new Sender(node).transfers(2)
    await allBaked(node, 2)
    expect(await checked(node, 6)).toBe(2)
    expect(await node.stop()).toBe(0)
  })
})

describe('a chain that goes back', () => {
  it('serves only blocks of the chain, and bakes the new ones', async () => {
    const home = freshHome()
    const first = await startDev(home, ...BAKING, ALL_TRACERS)
    const sender = new Sender(first)
    const [, , , set = '0x'] = await sender.scene()
    await allBaked(first, 4)
    // The fifth is on the worker's desk when the node stops.
    const slow = await sender.send(CALLER, undefined, 16_000_000n)
    const left = (await rpc(first.url, 'eth_getBlockByNumber', ['0x3', false])).result as { hash: string }
    const config = { tracer: 'callTracer' }
    expect((await trace(first.url, 'debug_traceBlockByNumber', ['0x3', config])).from).toBe('baked')
    expect(await first.stop()).toBe(0)
    const rolled = hearth(['db', 'rollback', '--to', '2', '--home', home])
    expect(rolled.status, rolled.stderr).toBe(0)
    const node = await startDev(home, ...BAKING, ALL_TRACERS)
    for (const tx of [set, slow]) {
      expect((await trace(node.url, 'debug_traceTransaction', [tx, config])).error).toMatchObject({ message: 'transaction not found' })
    }
    for (const target of ['0x3', '0x5']) {
      expect((await trace(node.url, 'debug_traceBlockByNumber', [target, config])).error).toMatchObject({ code: -32000 })
    }
    const [third = '0x'] = await new Sender(node).transfers(4)
    expect(((await rpc(node.url, 'eth_getBlockByNumber', ['0x3', false])).result as { hash: string }).hash).not.toBe(left.hash)
    await until('all blocks of the new branch', async () => (await checked(node, 6)) === 6 * TRACERS.length)
    expect((await trace(node.url, 'debug_traceTransaction', [third, config])).from).toBe('baked')
    expect(await node.stop()).toBe(0)
  })
})

/** A file system of so many bytes on a folder; undefined where this user may not mount. */
function small(dir: string, bytes: number): (() => void) | undefined {
  fs.mkdirSync(dir, { recursive: true })
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', dir])
  return mounted.status === 0 ? () => void spawnSync('umount', ['-l', dir]) : undefined
}

describe('a full disk', () => {
  it('stops on a full disk with a metric, and resumes', async () => {
    const home = freshHome()
    const cache = path.join(home, 'data/trace_db')
    const unmount = small(cache, 4 << 20)
    if (unmount === undefined) return console.log('skipped: this user may not mount a small file system')
    try {
      const node = await startDev(home, ...BAKING)
      const ballast = path.join(cache, 'ballast')
      // Nothing fits any more.
      const filled = spawnSync('dd', ['if=/dev/zero', `of=${ballast}`, 'bs=4096'])
      expect(filled.stderr.toString()).toContain('No space left')
      const sender = new Sender(node)
      for (let i = 0; i < 4; i++) await sender.send(CALLER, undefined, 4_000_000n)
      await until('the metric', async () => (await metric(node, 'bake_stopped')) === 1)
      await until('the line', async () => node.log().includes('bake: stopped, the disk is full'))
      await sender.transfers(2)
      expect((await rpc(node.url, 'eth_blockNumber')).result).toBe('0x6')
      const answer = await trace(node.url, 'debug_traceBlockByNumber', ['0x6', { tracer: 'callTracer' }])
      expect([answer.from, answer.error]).toEqual(['capsule', undefined])
      expect(await metric(node, 'bake_failed_blocks_total')).toBe(0)
      fs.rmSync(ballast)
      await until('room', async () => (await metric(node, 'bake_stopped')) === 0)
      await until('the end of baking', async () => (await metric(node, 'bake_lag_blocks')) === 0)
      await until('the line', async () => node.log().includes('bake: continues, the disk has free space again'))
      expect(await checked(node, 6)).toBe(6)
      expect(await node.stop()).toBe(0)
    } finally {
      unmount()
    }
  })
})
