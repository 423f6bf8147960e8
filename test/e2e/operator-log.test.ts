// Log entries of the stores and of the bake worker for operators: the events, with values.
import fs from 'node:fs'
import { afterEach, describe, expect, it } from 'vitest'
import { allBaked, BAKING, Sender, startDev } from './bake-node.ts'
import { hearth, type LogLine, logLines, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const homes: string[] = []
let node: RunningNode
afterEach(() => {
  for (const home of homes.splice(0)) fs.rmSync(home, { recursive: true, force: true })
})

async function start(...settings: string[]): Promise<void> {
  const home = tempHome()
  homes.push(home)
  node = await startDev(home, '--log.format=json', '--log.level=info', ...settings)
}

/** Lines of a part of the node with these words. */
const lines = (component: string, msg: string): LogLine[] =>
  logLines(node).filter((line) => line.component === component && line.msg === msg)

/** The first of them, once it is there. */
async function line(component: string, msg: string): Promise<LogLine> {
  await until(`the line "${msg}"`, async () => lines(component, msg).length > 0)
  return lines(component, msg)[0] as LogLine
}

const seconds = expect.toSatisfy((s: unknown) => typeof s === 'number' && s >= 0 && s < 60)

describe('the stores', () => {
  it('report unwound blocks, in at most one line a second', async () => {
    await start()
    const began = performance.now()
    for (let turn = 0; turn < 20; turn++) {
      const snapshot = (await rpc(node.url, 'evm_snapshot')).result
      await rpc(node.url, 'hardhat_mine', ['0x2'])
      expect((await rpc(node.url, 'evm_revert', [snapshot])).result).toBe(true)
    }
    const words = 'blocks were taken back'
    expect(await line('stores', words)).toMatchObject({ level: 'info', height: 0, seconds })
    const blocks = (): number => lines('stores', words).reduce((sum, { blocks }) => sum + Number(blocks), 0)
    await until('all of them', async () => blocks() === 40)
    const elapsed = (performance.now() - began) / 1000
    // A line of another kind, as of a slow request on a busy machine, lets those out that wait: the
    // log is in order.
    const all = logLines(node).map(({ msg }) => msg)
    const between = all.slice(all.indexOf(words), all.lastIndexOf(words)).filter((msg) => msg !== words)
    expect(lines('stores', words).length).toBeLessThanOrEqual(elapsed + 1 + between.length)
    expect(await node.stop()).toBe(0)
  })

  it('report history that was pruned', async () => {
    await start('--state-commit.flatkv.state_history_blocks=4')
    await new Sender(node).transfers(12)
    const logged = await line('stores', 'old history was pruned')
    expect(logged).toMatchObject({ level: 'info', seconds })
    // The first block may be logged alone; further ones are logged a minute later.
    expect(Number(logged.height)).toBeGreaterThan(0)
    expect([Number(logged.blocks) > 0, Number(logged.rows) > 0]).toEqual([true, true])
    expect(await node.stop()).toBe(0)
  })

  it('report snapshots that were taken, exist, and were removed', async () => {
    await start('--state-commit.flatkv.snapshot_interval_blocks=4', '--state-commit.flatkv.snapshot_keep=1', '--log.levels=stores=debug')
    const sender = new Sender(node)
    await sender.transfers(4)
    expect(await line('stores', 'a snapshot was taken, and is made durable')).toMatchObject({ level: 'debug', height: 4, seconds })
    const made = await line('stores', 'a snapshot is there')
    expect(made).toMatchObject({ level: 'info', height: 4, seconds })
    expect(made.walRecord).toBeGreaterThan(0)
    expect(lines('stores', 'an old snapshot is gone')).toEqual([])
    await sender.transfers(4)
    expect(await line('stores', 'an old snapshot is gone')).toMatchObject({ level: 'info', height: 4, walRecord: made.walRecord, seconds })
    expect(lines('stores', 'a snapshot is there').map(({ height }) => height)).toEqual([4, 8])
    expect(await node.stop()).toBe(0)
  })
})

describe('the bake worker', () => {
  it('reports how many blocks are not baked, and what bakes them', async () => {
    await start()
    const home = homes[0] as string
    await new Sender(node).transfers(5)
    expect(await node.stop()).toBe(0)
    node = await startNode(['start', '--home', home, '--log.level=info', ...BAKING])
    const logged = await line('bake', 'blocks are not baked: `hearth bake` bakes older ones')
    const command = `hearth bake --home ${home}`
    expect(logged).toMatchObject({ level: 'warn', blocks: 5, of: 5, command })
    const status = () => hearth(['status', '--home', home]).stdout
    expect(status()).toContain(`0 of 5 blocks: \`${command}\` bakes the rest`)
    expect(hearth(['bake', '--home', home]).status).toBe(0)
    await until('all of them in the status', async () => /^baked {2,}5 of 5 blocks$/m.test(status()))
    expect(await node.stop()).toBe(0)
    node = await startNode(['start', '--home', home, '--log.level=info', ...BAKING])
    await line('bake', 'baking begins')
    expect(lines('bake', 'blocks are not baked: `hearth bake` bakes older ones')).toEqual([])
    expect(await node.stop()).toBe(0)
  })

  it('reports its begin and its stop, at each start of the node', async () => {
    await start(...BAKING)
    await new Sender(node).transfers(2)
    await allBaked(node, 2)
    expect(await line('bake', 'baking begins')).toMatchObject({ level: 'info', height: 0, threads: 1, tracers: 'callTracer' })
    expect(await node.stop()).toBe(0)
    expect(await line('bake', 'baking stopped')).toMatchObject({ level: 'info', seconds })
    node = await startDev(homes[0] as string, '--log.format=json', '--log.level=info', ...BAKING)
    expect(await line('bake', 'baking begins')).toMatchObject({ height: 2 })
    expect(await node.stop()).toBe(0)
  })
})
