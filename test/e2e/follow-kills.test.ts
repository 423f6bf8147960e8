// hearth follow whose process is killed at random moments while the upstream makes blocks and
// branches: afterwards every block is the upstream's, whole, and there once.
import { describe, expect, it } from 'vitest'
import { seeded } from '../unit/follow-model.ts'
import { Calls } from './dev-calls.ts'
import { caughtUp, compared, devUpstream, startFollower } from './follow-nodes.ts'
import { makeWorkplace, work } from './follow-workload.ts'
import { endOf, hearth, spawnHearth, tempHome } from './harness.ts'
import { FULL } from './peer.ts'
import { sleep } from './waiting.ts'

/** Kills: in the full run, and else. */
const KILLS = FULL ? 50 : 5

/** Time from the start of a process to its end, in milliseconds, at most. */
const LIFE_MS_MAX = 2_500

/** Time between two blocks of the upstream, in milliseconds, at most. */
const PAUSE_MS_MAX = 800

/** What the test may take, in milliseconds. */
const TEST_MS_MAX = FULL ? 1_200_000 : 300_000

/** Deepest branch that replaces blocks. */
const REORG_MAX = 12

const TRACERS = [{}, { tracer: 'callTracer' }, { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }]

describe('kills', () => {
  it(
    `${KILLS} of them leave no hole and no block twice`,
    async () => {
      const random = seeded(KILLS)
      const upstream = await devUpstream()
      const calls = new Calls(upstream.url)
      const place = await makeWorkplace(calls)
      let isOver = false
      let round = 4
      const grow = async (): Promise<void> => {
        while (!isOver) {
          await work(calls, place, { rounds: 1, first: round++ })
          if (random(4) === 0) await calls.call('anvil_reorg', Math.min(1 + random(REORG_MAX), (await calls.height()) - 5), [])
          await sleep(random(PAUSE_MS_MAX))
        }
      }
      await work(calls, place, { rounds: 4 })
      const home = tempHome()
      const growing = grow()
      const args = ['follow', '--home', home, '--upstream', upstream.url, '--genesis', upstream.genesis, '--from', '1']
      let advanced = 0
      for (let kill = 0; kill < KILLS; kill++) {
        const child = spawnHearth([...args, '--follow.poll_interval=20ms', '--evm.http_port=0', '--evm.ws_port=0', '--metrics.port=0'])
        let log = ''
        const ended = endOf(child)
        for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (log += data.toString()))
        await sleep(random(LIFE_MS_MAX))
        child.kill('SIGKILL')
        expect(await ended, log).toBe('SIGKILL')
        if (log.includes('hearth is ready')) advanced++
      }
      isOver = true
      await growing
      const node = await startFollower(home, upstream.url, ...args.slice(5))
      await caughtUp(node.url, upstream.url)
      const last = await calls.height()
      const { different } = await compared([upstream.url, node.url], { from: 1, to: last, tracers: TRACERS, exact: true })
      expect(different).toEqual([])
      const status = JSON.parse(hearth(['status', '--home', home, '--json']).stdout) as Record<string, unknown>
      expect(status).toMatchObject({ height: last, followHoles: 0 })
      console.log(`${KILLS} kills, ${advanced} of them of a node that was ready; ${last} blocks`)
      expect(await node.stop()).toBe(0)
      const db = (...command: string[]): unknown[] => {
        const { status, stdout, stderr } = hearth(['db', ...command, '--home', home, '--json'])
        expect(status, stderr).toBe(0)
        return [JSON.parse(stdout)].flat()
      }
      db('scrub')
      // A record has two keys: one that is there twice shares them.
      for (const { name, records, keys } of db('table-info') as { name: string; records: number; keys: number }[]) {
        if (name === 'blocks' || name === 'receipts') expect(keys, name).toBe(2 * records)
      }
      expect(await upstream.stop()).toBe(0)
    },
    TEST_MS_MAX,
  )
})
