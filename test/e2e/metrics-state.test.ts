// The metrics of the state store that no single block changes: snapshots by interval, catching up
// after a kill.
import fs from 'node:fs'
import { createWalletClient, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Scrape, samplesOf } from '../unit/scrape.ts'
import { type RunningNode, startNode, tempHome } from './harness.ts'
import { atRest, movedOn, scrapeOf } from './movement.ts'
import { sleep, until } from './waiting.ts'

/** Blocks between two snapshots. */
const INTERVAL = 4

const DBS = ['account', 'code', 'storage', 'legacy', 'metadata']

const home = tempHome()
const SETTINGS = [
  '--state-commit.flatkv.fsync=none',
  `--state-commit.flatkv.snapshot_interval_blocks=${INTERVAL}`,
  '--state-commit.flatkv.snapshot_keep=1',
]
const account = mnemonicToAccount('test test test test test test test test test test test junk')
let node: RunningNode
let nonce = 0

const start = async (): Promise<void> => {
  node = await startNode(['dev', '--home', home, ...SETTINGS])
}
beforeAll(start)
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

const scrape = (): Promise<Scrape> => scrapeOf(node)
const movedBy = (work: () => Promise<unknown>): Promise<Record<string, number>> => movedOn(node, 'flatkv_', work)

/** Without what each commit moves, which has a test of its own. */
const besidesCommits = (changes: Record<string, number>): Record<string, number> =>
  Object.fromEntries(Object.entries(changes).filter(([sample]) => !/^flatkv_(apply|commit|batch_read|num_kv)/.test(sample)))

/** Mines blocks of one payment each. */
async function mine(blocks: number): Promise<void> {
  const wallet = createWalletClient({ account, chain: hardhat, transport: http(node.url) })
  const fees = { gas: 21_000n, maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n }
  for (let n = 0; n < blocks; n++) await wallet.sendTransaction({ to: account.address, value: 1n, nonce: nonce++, ...fees })
}

/** Waits until the newest snapshot has a height, and its pass of pruning is over. */
async function snapshotOf(height: number): Promise<void> {
  await until(`a snapshot of height ${height}`, async () => {
    const samples = samplesOf(await scrape())
    const passes = samples.get('flatkv_snapshot_prune_latency_count') ?? 0
    return samples.get('flatkv_current_snapshot_height') === height && passes >= height / INTERVAL
  })
}

const flushes = Object.fromEntries(DBS.map((db) => [`flatkv_flush_latency_count{db="${db}",success="true"}`, 1]))

describe('a snapshot', () => {
  it('is one flush, one write, and one pruning pass', async () => {
    const first = await movedBy(async () => {
      await mine(INTERVAL)
      await snapshotOf(INTERVAL)
    })
    const taken = {
      ...flushes,
      'flatkv_snapshot_write_latency_count{success="true"}': 1,
      flatkv_snapshot_prune_latency_count: 1,
      flatkv_current_snapshot_height: INTERVAL,
      flatkv_current_version: INTERVAL,
    }
    expect(besidesCommits(first)).toEqual(taken)
    const second = await movedBy(async () => {
      await mine(INTERVAL)
      await snapshotOf(2 * INTERVAL)
    })
    expect(besidesCommits(second)).toEqual({ ...taken, 'flatkv_snapshot_prune_attempts_total{success="true"}': 1 })
  })
})

describe('after a kill', () => {
  it('an opening replays unflushed blocks once, idle is quiet', async () => {
    await mine(3)
    expect(await node.stop('SIGKILL')).toBe('SIGKILL')
    await start()
    const samples = samplesOf(await scrape())
    const of = (name: string): number | undefined => samples.get(`flatkv_${name}`)
    // The last flush was the snapshot's: the three blocks behind it are replayed.
    expect(of('catchup_replay_num_blocks_total')).toBe(3)
    expect([of('catchup_latency_count{success="true"}'), of('catchup_latency_count{success="false"}')]).toEqual([1, 0])
    expect(of('open_latency_count{read_only="false",success="true"}')).toBe(1)
    expect(of('apply_changesets_latency_count{success="true"}')).toBe(3)
    expect([of('commit_latency_count{success="true"}'), of('current_version')]).toEqual([0, 2 * INTERVAL + 3])
    expect(of('current_snapshot_height')).toBe(2 * INTERVAL)
    await atRest(node, 'flatkv_')
    const idle = await movedBy(() => sleep(500))
    expect(idle).toEqual({})
  })
})
