// hearth import while a node has the home open: the node imports the files, and everything that
// follows its head follows them.
import type { ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { fixtures } from '../conformance/fixtures.ts'
import { allBaked, BAKING, metricsOf, trace } from './bake-node.ts'
import { endOf, hearth, type RunningNode, rpc, spawnHearth, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

/** Blocks of the recorded chain, and of its part that the node has at first. */
const [ALL, FIRST] = [54, 20]
/** Blocks of the long chain: enough to interrupt its import. */
const LONG = 30_000

const recorded = fixtures('rpc-compat')
const dir = tempHome()
const at = (name: string): string => path.join(dir, name)
const ok = (args: readonly string[]): string => {
  const { status, stdout, stderr } = hearth(args)
  expect([args[0], status, stderr.replace(/^\d+\.\d %, .*\n/gm, '')]).toEqual([args[0], 0, ''])
  return stdout
}
const FAST = '--state-commit.flatkv.fsync=none'
const genesisOf = (home: string): string => path.join(home, 'config', 'genesis.json')
const height = async (node: RunningNode): Promise<number> => Number((await rpc(node.url, 'eth_blockNumber')).result)

afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

/** The heads that a subscriber is notified of. */
async function heads(node: RunningNode): Promise<{ number: number; hash: string }[]> {
  const notified: { number: number; hash: string }[] = []
  const socket = new WebSocket(node.ws)
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject)
    socket.once('open', () => socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] })))
    socket.on('message', (data) => {
      const message = JSON.parse(data.toString()) as { id?: number; params?: { result: { number: string; hash: string } } }
      if (message.id === 1) resolve()
      const head = message.params?.result
      if (head !== undefined) notified.push({ number: Number(head.number), hash: head.hash })
    })
  })
  return notified
}

describe.skipIf(recorded === undefined)('beside a node', () => {
  const chain = path.join(recorded ?? '', 'chain.rlp')
  const genesis = path.join(recorded ?? '', 'genesis.json')
  const first = at('first.rlp')
  const recordedBlock = path.join(recorded ?? '', '..', 'mainnet-blocks', '46147.json.gz')

  beforeAll(() => {
    ok(['import', '--home', at('full'), '--genesis', genesis, chain, FAST])
    ok(['export', '--home', at('full'), '--to', String(FIRST), first])
    ok(['import', '--home', at('home'), '--genesis', genesis, first, FAST])
    ok(['import', '--home', at('bad'), '--genesis', genesis, first, FAST])
    fs.cpSync(at('bad'), at('offline'), { recursive: true })
  })

  it('heads, traces, metrics and snapshots follow', async () => {
    const node = await startNode(['start', '--home', at('home'), ...BAKING, '--state-commit.flatkv.snapshot_interval_blocks=10'])
    const notified = await heads(node)
    const before = await metricsOf(node)
    const commits = 'flatkv_commit_latency_count{success="true"}'
    const done = hearth(['import', '--home', at('home'), chain])
    expect([done.status, done.stderr]).toEqual([0, expect.stringContaining('a node runs on this data directory: it imports the blocks')])
    const last = (await rpc(node.url, 'eth_getBlockByNumber', ['latest', false])).result as { number: string; hash: string }
    expect(Number(last.number)).toBe(ALL)
    const line = /^imported 34 blocks \(.* blocks\/s, .* Mgas\/s\), 20 were there already; the head is block 54 (0x\w+)\n$/.exec(
      done.stdout,
    )
    expect([done.stdout, line?.[1]]).toEqual([done.stdout, last.hash])
    await until('the last head', async () => notified.at(-1)?.number === ALL)
    expect(notified.map(({ number }) => number)).toEqual(Array.from({ length: ALL - FIRST }, (_, i) => FIRST + 1 + i))
    expect(notified.at(-1)?.hash).toBe(last.hash)
    await allBaked(node, ALL - FIRST)
    const origins = await Promise.all(
      notified.map(async ({ hash }) => (await trace(node.url, 'debug_traceBlockByHash', [hash, { tracer: 'callTracer' }])).from),
    )
    expect(origins).toEqual(notified.map(() => 'baked'))
    const samples = await metricsOf(node)
    // Several blocks may be committed in one step.
    const made = (samples.get(commits) ?? 0) - (before.get(commits) ?? 0)
    expect(made).toBeGreaterThan(0)
    expect(made).toBeLessThanOrEqual(ALL - FIRST)
    expect([samples.get('flatkv_current_version'), samples.get('flatkv_current_snapshot_height')]).toEqual([ALL, ALL])
    expect(fs.readdirSync(path.join(at('home'), 'data', 'requests'))).toEqual(['node'])
    const again = hearth(['import', '--home', at('home'), chain])
    expect([again.status, again.stdout]).toEqual([
      0,
      expect.stringMatching(/^imported 0 blocks .*, 54 were there already; the head is block 54 /),
    ])
    expect(await node.stop()).toBe(0)
    expect(fs.readdirSync(path.join(at('home'), 'data', 'requests'))).toEqual([])
    expect(ok(['db', 'verify', '--home', at('home')])).toContain('height 54: sound')
    const files = ['a', 'b'].map((name) => at(`${name}.rlp`)) as [string, string]
    ok(['export', '--home', at('home'), files[0]])
    ok(['export', '--home', at('full'), files[1]])
    expect(fs.readFileSync(files[0]).equals(fs.readFileSync(files[1]))).toBe(true)
  })

  it('errors have the words and exit codes of an offline import', async () => {
    const bytes = fs.readFileSync(chain)
    const spoilt = Buffer.from(bytes)
    const root = Buffer.from(
      ((): string => {
        const { stdout } = hearth(['db', 'info', '--home', at('full'), '--json'])
        return (JSON.parse(stdout) as { head: { commitment: string } }).head.commitment.slice(2)
      })(),
      'hex',
    )
    const place = spoilt.lastIndexOf(root)
    expect(place).toBeGreaterThan(0)
    spoilt[place] = (spoilt[place] as number) ^ 1
    fs.writeFileSync(at('state-root.rlp'), spoilt)
    fs.writeFileSync(at('cut.rlp'), bytes.subarray(0, bytes.length - 7))
    fs.writeFileSync(at('text.rlp'), 'hello')
    const dev = await startNode(['dev', '--home', at('other'), FAST])
    await rpc(dev.url, 'anvil_mine', ['0x3'])
    const refused = hearth(['import', '--home', at('other'), chain])
    expect([refused.status, refused.stderr]).toEqual([
      1,
      expect.stringContaining(
        `error: ${at('other')} is a development chain that makes its own blocks: stop it, import, and start it again\n`,
      ),
    ])
    expect(await dev.stop()).toBe(0)
    ok(['export', '--home', at('other'), at('other.rlp')])

    const node = await startNode(['start', '--home', at('bad'), FAST])
    const error = (home: string, file: string): [number | null, string | undefined] => {
      const { status, stderr } = hearth(['import', '--home', home, at(file)])
      return [status, /^error: .*$/m.exec(stderr)?.[0]]
    }
    for (const file of ['text.rlp', 'other.rlp', 'cut.rlp', 'state-root.rlp']) {
      const [beside, offline] = [error(at('bad'), file), error(at('offline'), file)]
      expect([file, beside]).toEqual([file, offline])
      expect(beside).toEqual([1, expect.stringContaining(`error: ${at(file)}: block`)])
    }
    // The good blocks before the bad one are there.
    expect(await height(node)).toBe(ALL - 1)
    expect(hearth(['import', '--home', at('bad'), '--genesis', genesis, chain])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/is in use by process \d+ on .*: --genesis is for a home on which no node runs: leave it out\n$/),
    })
    expect(await node.stop()).toBe(0)
  })

  it('a recorded block is refused beside a node', async () => {
    ok(['import', '--home', at('case'), '--case', recordedBlock])
    const node = await startNode(['start', '--home', at('case'), FAST])
    expect(hearth(['import', '--home', at('case'), '--case', recordedBlock])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/is in use by process \d+ on .*: --case makes a new home: give a home on which no node runs\n$/),
    })
    expect(await node.stop()).toBe(0)
  })

  it('nothing of it can be asked over the network', async () => {
    const node = await startNode(['start', '--home', at('offline'), FAST])
    for (const method of ['hearth_import', 'debug_importChain', 'admin_importChain', 'debug_insertBlock']) {
      expect((await rpc(node.url, method, [chain])).error).toMatchObject({ code: -32601 })
    }
    expect(await node.stop()).toBe(0)
  })
})

describe('an import that is broken off', () => {
  const chain = at('long.rlp')
  const from = (home: string): string[] => ['import', '--home', home, chain]

  beforeAll(async () => {
    const dev = await startNode(['dev', '--home', at('long'), FAST])
    await rpc(dev.url, 'anvil_mine', [`0x${LONG.toString(16)}`])
    expect(await dev.stop()).toBe(0)
    ok(['export', '--home', at('long'), chain])
    for (const home of ['signal', 'command', 'node']) ok(['init', '--home', at(home), '--genesis', genesisOf(at('long'))])
  })

  const ended = (child: ChildProcess): Promise<[number | string | null, string]> => {
    let stderr = ''
    child.stderr?.on('data', (data: Buffer) => {
      stderr += data.toString()
    })
    return endOf(child).then((how) => [how, stderr])
  }

  /** Starts an import and waits until the node has some of its blocks. */
  async function begun(home: string, node: RunningNode): Promise<{ child: ChildProcess; end: Promise<[number | string | null, string]> }> {
    const child = spawnHearth(from(home))
    const end = ended(child)
    await until('the first blocks', async () => (await height(node)) > 20)
    return { child, end }
  }

  const sound = (home: string): void => expect(ok(['db', 'verify', '--home', home])).toContain(`height ${LONG}: sound`)

  it('Ctrl-C stops it in the node, and the same command goes on', async () => {
    const node = await startNode(['start', '--home', at('signal')])
    const { child, end } = await begun(at('signal'), node)
    child.kill('SIGINT')
    expect(await end).toEqual([130, expect.stringContaining('stopped: the same command continues from here\n')])
    const stopped = await height(node)
    expect(stopped).toBeLessThan(LONG)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(await height(node)).toBe(stopped)
    const rest = hearth(from(at('signal')))
    expect(rest.stdout).toMatch(
      new RegExp(`^imported ${LONG - stopped} blocks .*, ${stopped} were there already; the head is block ${LONG} `),
    )
    expect(await node.stop()).toBe(0)
    sound(at('signal'))
  })

  it('kill -9 of the command leaves it to the node', async () => {
    const node = await startNode(['start', '--home', at('command')])
    const { child, end } = await begun(at('command'), node)
    child.kill('SIGKILL')
    expect((await end)[0]).toBe('SIGKILL')
    const again = hearth(from(at('command')))
    expect([again.status, again.stdout]).toEqual([0, expect.stringContaining(`the head is block ${LONG} `)])
    expect(await node.stop()).toBe(0)
    sound(at('command'))
  })

  it('reports kill -9 and a stop of the node, and goes on', async () => {
    let node = await startNode(['start', '--home', at('node')])
    const killed = await begun(at('node'), node)
    expect(await node.stop('SIGKILL')).toBe('SIGKILL')
    expect(await killed.end).toEqual([
      1,
      expect.stringContaining('it ended before the work was done: start it and run the same command again'),
    ])
    node = await startNode(['start', '--home', at('node')])
    const before = await height(node)
    expect(before).toBeGreaterThan(20)
    const stopped = await begun(at('node'), node)
    await until('more blocks', async () => (await height(node)) > before)
    expect(await node.stop()).toBe(0)
    expect(await stopped.end).toEqual([1, expect.stringContaining('the node was stopped: run the same command again')])
    expect(fs.readdirSync(path.join(at('node'), 'data', 'requests'))).toEqual([])
    // Without a node the same command continues by itself.
    expect(hearth(from(at('node'))).stdout).toContain(`the head is block ${LONG} `)
    sound(at('node'))
  })
})
