// The rules of the trace cache, each by its number in the specification.
import fs from 'node:fs'
import path from 'node:path'
import type { Hex } from 'viem'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { FIXTURES } from '../conformance/fixtures.ts'
import { ALL_TRACERS, allBaked, BAKING, CALLER, CONTRACT, metric, requestsOf, Sender, startDev, TRACERS, trace } from './bake-node.ts'
import { hearth, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { doubled, until } from './waiting.ts'

const homes: string[] = []
const nodes: RunningNode[] = []

function freshHome(): string {
  const home = tempHome()
  homes.push(home)
  return home
}

async function start(home: string, ...settings: string[]): Promise<RunningNode> {
  const node = await startDev(home, ...settings)
  nodes.push(node)
  return node
}

afterEach(async () => {
  for (const node of nodes.splice(0)) expect(await node.stop()).toBe(0)
})
afterAll(() => {
  for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
})

/**
 * Baking work that is left when a node is stopped, in milliseconds: many times the duration of a
 * stop.
 */
const WORK_LEFT_MS = 12_000

/**
 * The same request, which the cache must not answer: the options of the tracer are named, with
 * their defaults.
 */
const live = (tracer: string): object => ({ tracer, tracerConfig: {} })

describe('rule 1: each commit is executed with each tracer and stored', () => {
  it('every trace of every new block exists, equal to live', async () => {
    const node = await start(freshHome(), ...BAKING, ALL_TRACERS)
    const hashes = await new Sender(node).scene()
    await allBaked(node, hashes.length)
    for (const hash of hashes) {
      for (const [method, target] of await requestsOf(node.url, hash)) {
        for (const tracer of TRACERS) {
          const baked = await trace(node.url, method, [target, { tracer }])
          const again = await trace(node.url, method, [target, live(tracer)])
          expect([baked.from, again.from]).toEqual(['baked', 'capsule'])
          expect(baked.text).toBe(again.text)
        }
      }
    }
    expect(await metric(node, 'bake_baked_blocks_total')).toBe(hashes.length)
    expect(await metric(node, 'bake_block_latency_seconds_count')).toBe(hashes.length)
    expect(await metric(node, 'bake_stored_bytes_total')).toBeGreaterThan(0)
  })

  it('capsules kept in memory change speed only', async () => {
    const node = await start(
      freshHome(),
      ...BAKING,
      ALL_TRACERS,
      '--evm.trace_bake_use_snapshot=true',
      '--evm.trace_bake_snapshot_window=2',
    )
    const hashes = await new Sender(node).scene()
    await allBaked(node, hashes.length)
    for (const hash of hashes) {
      for (const tracer of TRACERS) {
        const baked = await trace(node.url, 'debug_traceTransaction', [hash, { tracer }])
        expect(baked.from).toBe('baked')
        expect(baked.text).toBe((await trace(node.url, 'debug_traceTransaction', [hash, live(tracer)])).text)
      }
    }
  })

  it('a later tracer is baked for earlier heights by one start', async () => {
    const home = freshHome()
    const first = await start(home, ...BAKING)
    const hashes = await new Sender(first).scene()
    await allBaked(first, hashes.length)
    expect(await first.stop()).toBe(0)
    nodes.splice(0)
    const second = await start(home, ...BAKING, ALL_TRACERS)
    await allBaked(second, hashes.length)
    for (const tracer of TRACERS) expect((await trace(second.url, 'debug_traceTransaction', [hashes[0], { tracer }])).from).toBe('baked')
  })
})

describe('rule 2: three methods are served on a hit, live otherwise', () => {
  it('blocks of before baking was enabled, and later ones', async () => {
    const home = freshHome()
    const before = await start(home, '--state-commit.flatkv.fsync=none')
    const [old = ''] = await new Sender(before).scene()
    expect(await before.stop()).toBe(0)
    nodes.splice(0)
    const node = await start(home, ...BAKING)
    const [fresh] = await new Sender(node).transfers(1)
    await allBaked(node, 1)
    const config = { tracer: 'callTracer' }
    for (const [method, target] of await requestsOf(node.url, fresh as `0x${string}`)) {
      expect((await trace(node.url, method, [target, config])).from).toBe('baked')
      expect((await trace(node.url, method, [target, config], 'gzip')).from).toBe('baked')
    }
    for (const [method, target] of await requestsOf(node.url, old as `0x${string}`)) {
      const answer = await trace(node.url, method, [target, config])
      expect([answer.from, answer.error]).toEqual(['capsule', undefined])
    }
    expect((await trace(node.url, 'debug_traceBlockByNumber', ['latest', config])).from).toBe('baked')
    expect((await trace(node.url, 'debug_traceBlockByNumber', ['0x63', config])).error).toMatchObject({ code: -32000 })
  })
})

describe('rule 3: three tracers without tracerConfig are eligible', () => {
  it('any tracerConfig is live, as is a tracer that is not baked', async () => {
    const home = freshHome()
    const node = await start(home, ...BAKING)
    const [, hash = '0x'] = await new Sender(node).scene()
    await allBaked(node, 4)
    const origins = async (config: unknown): Promise<(string | null)[]> => {
      const answers = []
      for (const [method, target] of await requestsOf(node.url, hash)) answers.push((await trace(node.url, method, [target, config])).from)
      return answers
    }
    const all = (from: string): string[] => [from, from, from]
    const tracer = 'callTracer'
    expect(await origins({ tracer })).toEqual(all('baked'))
    expect(await origins({ tracer, timeout: '30s', reexec: 7 })).toEqual(all('baked'))
    for (const tracerConfig of [null, {}, { withLog: true }, { onlyTopCall: false }]) {
      expect(await origins({ tracer, tracerConfig })).toEqual(all('capsule'))
    }
    expect(await origins({ tracer: 'prestateTracer' })).toEqual(all('capsule'))
    expect(await node.stop()).toBe(0)
    nodes.splice(0)
    const without = await start(home)
    expect((await trace(without.url, 'debug_traceTransaction', [hash, { tracer }])).from).toBe('capsule')
  })
})

describe('beyond rule 1: parityTracer is baked by its own setting', () => {
  const PARITY = '--evm.trace_bake_further_tracers=parityTracer'

  it('trace_* and the tracer itself are hits, equal to live', async () => {
    const home = freshHome()
    const node = await start(home, ...BAKING, PARITY)
    const hashes = await new Sender(node).scene()
    await allBaked(node, hashes.length)
    const requests: [method: string, params: unknown[]][] = hashes.flatMap((hash, i) => [
      ['trace_transaction', [hash]],
      ['trace_block', [`0x${(i + 1).toString(16)}`]],
      ['debug_traceTransaction', [hash, { tracer: 'parityTracer' }]],
      ['trace_replayTransaction', [hash, ['trace']]],
      ['trace_replayBlockTransactions', [`0x${(i + 1).toString(16)}`, ['trace']]],
      ['trace_get', [hash, []]],
      ['trace_get', [hash, ['0x7']]],
      ['trace_filter', [{ fromBlock: '0x1', toBlock: `0x${(i + 1).toString(16)}`, toAddress: [CONTRACT] }]],
      ['trace_filter', [{ fromBlock: '0x1', toBlock: `0x${(i + 1).toString(16)}`, after: i, count: 1 }]],
    ])
    const answers: string[] = []
    for (const [method, params] of requests) {
      const baked = await trace(node.url, method, params)
      expect([method, baked.from]).toEqual([method, 'baked'])
      answers.push(baked.text)
    }
    const other = await trace(node.url, 'trace_replayTransaction', [hashes[0], ['trace', 'stateDiff']])
    expect(other.from).toBe('capsule')
    expect(await node.stop()).toBe(0)
    nodes.splice(0)
    const without = await start(home)
    for (const [i, [method, params]] of requests.entries()) {
      const made = await trace(without.url, method, params)
      expect([made.from, made.text]).toEqual(['capsule', answers[i]])
    }
  })

  const file = path.join(FIXTURES, 'mainnet-blocks', '12459406.json.gz')
  const isThere = fs.existsSync(file)
  it.skipIf(!isThere)(`${isThere ? '' : 'skipped: the recorded block is not there: '}a block with rewards`, async () => {
    const home = freshHome()
    expect(hearth(['import', '--home', home, '--case', file]).status).toBe(0)
    expect(hearth(['bake', '--home', home, PARITY]).status).toBe(0)
    const answers: { from: string | null; text: string }[] = []
    for (const settings of [[...BAKING, PARITY], []]) {
      const node = await startNode(['start', '--home', home, ...settings])
      answers.push(await trace(node.url, 'trace_block', ['0xbe1d8e']))
      expect(await node.stop()).toBe(0)
    }
    const [baked, live] = answers
    expect([baked?.from, live?.from]).toEqual(['baked', 'capsule'])
    expect(baked?.text).toBe(live?.text)
    const frames = JSON.parse(live?.text ?? '').result as { type: string }[]
    expect(frames.length).toBeGreaterThan(800)
    expect(frames.at(-1)?.type).toBe('reward')
  })
})

describe('beyond rule 3: common options are baked by their setting', () => {
  it('an equivalent tracerConfig is a hit, any other is live', async () => {
    const home = freshHome()
    const node = await start(home, ...BAKING, ALL_TRACERS, '--evm.trace_bake_canonical_configs=true')
    const hashes = await new Sender(node).scene()
    await allBaked(node, hashes.length)
    const configs = [
      { tracer: 'callTracer', tracerConfig: { withLog: true } },
      { tracer: 'callTracer', tracerConfig: { onlyTopCall: false } },
      { tracer: 'callTracer', tracerConfig: {} },
      { tracer: 'callTracer' },
      { tracer: 'prestateTracer', tracerConfig: { diffMode: true } },
      { tracer: 'prestateTracer', tracerConfig: null },
    ]
    const answers: string[] = []
    for (const config of configs) {
      const baked = await trace(node.url, 'debug_traceTransaction', [hashes[1], config])
      expect([config, baked.from]).toEqual([config, 'baked'])
      answers.push(baked.text)
    }
    expect(new Set(answers).size).toBe(4)
    for (const config of [
      { tracer: 'callTracer', tracerConfig: { onlyTopCall: true } },
      { tracer: 'prestateTracer', tracerConfig: { disableCode: true } },
      { tracer: 'flatCallTracer', tracerConfig: { convertParityErrors: true } },
    ]) {
      expect([config, (await trace(node.url, 'debug_traceTransaction', [hashes[1], config])).from]).toEqual([config, 'capsule'])
    }
    expect(await node.stop()).toBe(0)
    nodes.splice(0)
    const without = await start(home)
    for (const [i, config] of configs.entries()) {
      const made = await trace(without.url, 'debug_traceTransaction', [hashes[1], config])
      expect([made.from, made.text]).toEqual(['capsule', answers[i]])
    }
  })
})

describe('rule 4: struct logs, JavaScript and other tracers are live', () => {
  it('each of them', async () => {
    const node = await start(freshHome(), ...BAKING, ALL_TRACERS)
    const [, hash = '0x'] = await new Sender(node).scene()
    await allBaked(node, 4)
    for (const config of [undefined, {}, { tracer: '4byteTracer' }, { tracer: 'noopTracer' }, { tracer: 'opcodeTracer' }]) {
      const answer = await trace(node.url, 'debug_traceTransaction', config === undefined ? [hash] : [hash, config])
      expect([answer.from, answer.error]).toEqual(['capsule', undefined])
    }
    const script = '{step:function(){},fault:function(){},result:function(){return 1}}'
    expect((await trace(node.url, 'debug_traceTransaction', [hash, { tracer: script }])).from).not.toBe('baked')
  })
})

describe('rule 5: a full queue drops heights, never delays a commit', () => {
  it('dropped blocks are live, and baked when there is time', async () => {
    const node = await start(freshHome(), ...BAKING, '--evm.trace_bake_queue_size=1')
    const sender = new Sender(node)
    let slow: Hex = '0x'
    // Adds blocks that take long to bake until one finds the queue full; their number depends on
    // the machine.
    await doubled('slow blocks beside which others are dropped', { from: 1, most: 64 }, async (count) => {
      for (let i = 0; i < count; i++) slow = await sender.send(CALLER, undefined, 16_000_000n)
      await sender.transfers(12)
      return (await metric(node, 'bake_dropped_blocks_total')) > 0
    })
    expect(node.log()).not.toContain('error')
    const head = Number((await rpc(node.url, 'eth_blockNumber')).result)
    const answer = await trace(node.url, 'debug_traceBlockByNumber', ['latest', { tracer: 'callTracer' }])
    expect(answer.error).toBeUndefined()
    expect(answer.result).toHaveLength(1)
    await allBaked(node, head)
    for (let height = 1; height <= head; height++) {
      const origin = (await trace(node.url, 'debug_traceBlockByNumber', [`0x${height.toString(16)}`, { tracer: 'callTracer' }])).from
      expect([height, origin]).toEqual([height, 'baked'])
    }
    expect((await trace(node.url, 'debug_traceTransaction', [slow, { tracer: 'callTracer' }], 'gzip')).from).toBe('baked')
    await until('a line in the log', async () => node.log().includes('the queue is full'))
  })
})

describe('rule 6: with a window older blocks go', () => {
  it('a height is served from the head minus the window on', async () => {
    const home = freshHome()
    const before = await start(home, '--state-commit.flatkv.fsync=none')
    await new Sender(before).transfers(6)
    expect(await before.stop()).toBe(0)
    nodes.splice(0)
    let node = await start(home, ...BAKING, '--evm.trace_bake_window_blocks=4')
    // Baking begins where the window does: blocks 3 to 6.
    await allBaked(node, 4)
    const origins = async (to: number): Promise<string[]> => {
      const found = []
      for (let height = 1; height <= to; height++) {
        const { from } = await trace(node.url, 'debug_traceBlockByNumber', [`0x${height.toString(16)}`, { tracer: 'callTracer' }])
        found.push(`${height} ${from}`)
      }
      return found.filter((line) => line.endsWith('baked'))
    }
    expect(await origins(6)).toEqual(['3 baked', '4 baked', '5 baked', '6 baked'])
    await new Sender(node).transfers(3)
    await allBaked(node, 7)
    expect(await origins(9)).toEqual(['5 baked', '6 baked', '7 baked', '8 baked', '9 baked'])
    // Those below are gone, not only hidden: without the window they are not served either.
    expect(await node.stop()).toBe(0)
    nodes.splice(0)
    node = await start(home, ...BAKING)
    expect(await origins(9)).toEqual(['5 baked', '6 baked', '7 baked', '8 baked', '9 baked'])
  })
})

describe('rule 7: a clean stop flushes the cache, even while baking', () => {
  it('bakes under way are given up, and made by the next start', async () => {
    const home = freshHome()
    const settings = [...BAKING, ALL_TRACERS, '--evm.trace_bake_timeout=60s']
    const node = await start(home, ...settings)
    const sender = new Sender(node)
    await sender.send(CALLER, undefined, 16_000_000n)
    await allBaked(node, 1)
    const oneMs = (await metric(node, 'bake_block_latency_seconds_sum')) * 1000
    const bakedBy = (of: RunningNode): Promise<number> => metric(of, 'bake_baked_blocks_total')
    let blocks = 1
    let waiting = 0
    // Adds blocks until the waiting ones would take far longer to bake than a node takes to stop.
    // The node bakes meanwhile.
    await until('enough to bake', async () => {
      await sender.send(CALLER, undefined, 16_000_000n)
      waiting = ++blocks - (await bakedBy(node))
      return waiting * oneMs > WORK_LEFT_MS
    })
    const before = await bakedBy(node)
    const began = performance.now()
    expect(await node.stop()).toBe(0)
    const stoppedMs = performance.now() - began
    nodes.splice(0)
    expect(stoppedMs).toBeLessThan(waiting * oneMs)
    const again = await start(home, ...settings)
    await allBaked(again, 1)
    // The first run baked until it was stopped, so the second run has at most the blocks that were
    // left before.
    const rest = await bakedBy(again)
    expect(rest).toBeLessThanOrEqual(blocks - before)
    expect(rest * oneMs).toBeGreaterThan(WORK_LEFT_MS / 4)
    for (const height of [1, blocks - rest, blocks - rest + 1, blocks]) {
      const { from, error } = await trace(again.url, 'debug_traceBlockByNumber', [`0x${height.toString(16)}`, { tracer: 'callTracer' }])
      expect([height, from, error]).toEqual([height, 'baked', undefined])
    }
  })
})

describe('rule 7: a clean stop flushes the cache to disk', () => {
  it('after a restart everything exists, nothing is baked again', async () => {
    const home = freshHome()
    const first = await start(home, ...BAKING, ALL_TRACERS)
    const hashes = await new Sender(first).scene()
    await allBaked(first, hashes.length)
    expect(await first.stop()).toBe(0)
    nodes.splice(0)
    const files = fs.readdirSync(path.join(home, 'data/trace_db'), { recursive: true, withFileTypes: true }).filter((e) => e.isFile())
    expect(files.reduce((sum, e) => sum + fs.statSync(path.join(e.parentPath, e.name)).size, 0)).toBeGreaterThan(1000)
    const second = await start(home, ...BAKING, ALL_TRACERS)
    for (const hash of hashes) {
      for (const tracer of TRACERS) expect((await trace(second.url, 'debug_traceTransaction', [hash, { tracer }])).from).toBe('baked')
    }
    expect(await metric(second, 'bake_baked_blocks_total')).toBe(0)
    expect((await rpc(second.url, 'eth_blockNumber')).result).toBe('0x4')
  })
})
