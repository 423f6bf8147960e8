// hearth follow with go-ethereum as upstream: blocks are proven by what it gives, and traces,
// receipts and logs are those that it gives itself.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { FIXTURES, fixtures } from '../conformance/fixtures.ts'
import { freePort } from '../free-port.mjs'
import { caughtUp, compared, startFollower, TRACERS } from './follow-nodes.ts'
import { type RunningNode, rpc, tempHome } from './harness.ts'
import { FULL } from './peer.ts'
import { until } from './waiting.ts'

const [genesis, chain] = ['genesis.json', 'chain.rlp'].map((name) => path.join(FIXTURES, 'rpc-compat', name)) as [string, string]

/** Words of storage differ in struct logs (`struct-log-0x` in ARCHITECTURE.md). */
const GETH_TRACERS = [{ disableStorage: true }, ...TRACERS.slice(1)]

/** Last block of the fixture. */
const LAST = 54

const children: ChildProcess[] = []
const running: RunningNode[] = []
afterEach(async () => {
  for (const node of running.splice(0)) expect(await node.stop()).toBe(0)
  for (const child of children.splice(0)) {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
  }
})

/** Runs another node and waits until it answers. */
async function started(command: string, args: readonly string[], port: number): Promise<string> {
  const child = spawn(command, args, { stdio: 'ignore' })
  children.push(child)
  const url = `http://127.0.0.1:${port}`
  await until(`${command} answers`, () =>
    rpc(url, 'eth_blockNumber').then(
      () => true,
      () => false,
    ),
  )
  return url
}

const hasGeth = FULL && spawnSync('geth', ['version'], { encoding: 'utf8' }).stdout?.includes('1.17.0') === true
if (!FULL) console.log('skipped: hearth follow on geth: geth runs in full mode (npm run test:full)')

/** go-ethereum with the chain of the fixture. */
async function startGeth(...store: string[]): Promise<string> {
  const all = ['--datadir', tempHome(), ...store]
  expect(spawnSync('geth', [...all.slice(0, 3), 'init', genesis]).status).toBe(0)
  expect(spawnSync('geth', [...all, '--syncmode=full', 'import', chain]).status).toBe(0)
  const port = await freePort()
  const offline = ['--nodiscover', '--maxpeers=0', '--port=0', '--ipcdisable', `--authrpc.port=${await freePort()}`]
  const served = ['--http', `--http.port=${port}`, '--http.api=debug,eth,web3,net,txpool']
  return await started('geth', [...all, '--syncmode=full', ...offline, ...served], port)
}

describe.skipIf(!hasGeth || fixtures('rpc-compat') === undefined)('go-ethereum', () => {
  it('has the same answers about every block, all of them proven', async () => {
    const url = await startGeth('--state.scheme=hash', '--gcmode=archive')
    const follower = await startFollower(tempHome(), url, '--genesis', genesis, '--from', '1')
    running.push(follower)
    await caughtUp(follower.url, url)
    const { different, same } = await compared([url, follower.url], { from: 1, to: LAST, tracers: GETH_TRACERS, exact: false })
    expect(different).toEqual([])
    expect(same).toBeGreaterThan(2000)
    expect(await (await fetch(follower.metrics as string)).text()).toMatch(/^follow_blocks_total\{verified="proven"\} 54$/m)
  })

  it('with the path scheme gives a witness of its newest block', async () => {
    const url = await startGeth('--state.scheme=path')
    const follower = await startFollower(tempHome(), url, '--genesis', genesis, '--from', String(LAST - 5))
    running.push(follower)
    await caughtUp(follower.url, url)
    expect(follower.log()).toContain('of its newest block alone')
    expect(await (await fetch(follower.metrics as string)).text()).toMatch(/^follow_blocks_total\{verified="proven"\} 6$/m)
    // Its state is whole: it still traces its newest block.
    const { different } = await compared([url, follower.url], { from: LAST, to: LAST, tracers: GETH_TRACERS, exact: false })
    expect(different).toEqual([])
  })
})
