// The series of the tables' caches, which are off by default, and of collection: each changes by
// exactly the node's work, and none while the node is idle.
import fs from 'node:fs'
import { createWalletClient, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Scrape, samplesOf } from '../unit/scrape.ts'
import { quiet, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { atRest, movedOn, scrapeOf } from './movement.ts'
import { sleep, until } from './waiting.ts'

/** Without a clock of syncs nothing is flushed by itself. */
const QUIET = '--state-commit.flatkv.fsync=none'

/** Room for all that the test does, in bytes. */
const LARGE = 16 * 1024 * 1024

/**
 * A part of a cache has a sixteenth of it: one block fits, with its overhead, and the next one
 * replaces it.
 */
const SMALL = 16 * 1024

const TABLES = ['blocks', 'receipts', 'capsules']

/** How long an idle node is watched, in milliseconds. */
const IDLE_MS = 1000

const home = tempHome()
const account = mnemonicToAccount('test test test test test test test test test test test junk')
let node: RunningNode

const start = (size: number): Promise<RunningNode> =>
  startNode(['dev', '--home', home, QUIET, `--littable.read_cache_bytes=${size}`, `--littable.write_cache_bytes=${size}`])

beforeAll(async () => {
  node = await start(LARGE)
  await quiet(node)
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

const scrape = (): Promise<Scrape> => scrapeOf(node)
const movedBy = (work: () => Promise<unknown>): Promise<Record<string, number>> => movedOn(node, 'litt_', work)

const of = (label: string, each: Record<string, number | undefined>): Record<string, number | undefined> =>
  Object.fromEntries(Object.entries(each).map(([name, by]) => [`litt_${name}{${label}}`, by]))
const table = (name: string, each: Record<string, number | undefined>) => of(`table="${name}"`, each)

/** What a cache moves where so many entries came and none went. */
const added = (cache: string, entries: number, weight: number | undefined) =>
  of(`cache="${cache}"`, {
    chunk_cache_key_count: entries,
    chunk_cache_keys_added_total: entries,
    chunk_cache_weight_bytes: weight,
    chunk_cache_weight_added_bytes_total: weight,
  })

/** Mines a block with one transaction, whose hash it gives. */
async function mine(): Promise<string> {
  const wallet = createWalletClient({ account, chain: hardhat, transport: http(node.url) })
  const nonce = Number((await rpc(node.url, 'eth_getTransactionCount', [account.address])).result)
  const fees = { gas: 21_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n }
  const raw = await wallet.signTransaction({ to: account.address, value: 1n, nonce, ...fees })
  const { result, error } = await rpc(node.url, 'eth_sendRawTransaction', [raw])
  expect(error).toBeUndefined()
  return result as string
}

it('an idle node moves none', async () => {
  await atRest(node, 'litt_')
  expect(await movedBy(() => sleep(IDLE_MS))).toEqual({})
})

let mined = ''

it('what a block puts is kept, and nothing of it is read back', async () => {
  const changes = await movedBy(async () => {
    mined = await mine()
  })
  const written = (name: string) => changes[`litt_bytes_written_total{table="${name}"}`]
  const size = (name: string) => changes[`litt_table_size_bytes{table="${name}"}`]
  const weight = changes['litt_chunk_cache_weight_bytes{cache="chunk_write"}']
  const values = TABLES.map((name) => written(name) as number)
  expect(weight).toBeGreaterThan(values.reduce((sum, bytes) => sum + bytes, 0))
  const put = { keys_written_total: 2, table_key_count: 2, write_latency_seconds_count: 1 }
  const puts = TABLES.map((name) => table(name, { ...put, bytes_written_total: written(name), table_size_bytes: size(name) }))
  expect(changes).toEqual({
    ...Object.assign({}, ...puts),
    ...added('chunk_write', TABLES.length, weight),
  })
})

it('after a restart what is read is kept, once, and found again', async () => {
  expect(await node.stop()).toBe(0)
  node = await start(LARGE)
  const first = await movedBy(() => rpc(node.url, 'eth_getTransactionReceipt', [mined]))
  const bytes = first['litt_bytes_read_total{table="receipts"}']
  const weight = first['litt_chunk_cache_weight_bytes{cache="chunk_read"}']
  expect(weight).toBeGreaterThan(bytes as number)
  const read = { keys_read_total: 1, read_latency_seconds_count: 1, bytes_read_total: bytes }
  expect(first).toEqual({
    ...table('receipts', { ...read, cache_misses_total: 1, cache_miss_latency_seconds_count: 1 }),
    ...added('chunk_read', 1, weight),
  })
  // A trace only needs the senders, which are stored apart from the receipts: the same frame again.
  // It also needs the block's capsule.
  const traced = await movedBy(() => rpc(node.url, 'debug_traceTransaction', [mined, { tracer: 'callTracer' }]))
  const capsule = traced['litt_bytes_read_total{table="capsules"}']
  expect(capsule).toBeGreaterThan(0)
  expect(traced).toEqual({
    ...table('receipts', { ...read, cache_hits_total: 1 }),
    ...table('capsules', { ...read, bytes_read_total: capsule, cache_misses_total: 1, cache_miss_latency_seconds_count: 1 }),
    ...added('chunk_read', 1, traced['litt_chunk_cache_weight_bytes{cache="chunk_read"}']),
  })
})

it('a small cache evicts as many as do not fit, with their age', async () => {
  expect(await node.stop()).toBe(0)
  node = await start(SMALL)
  const before = samplesOf(await scrape())
  const held = before.get('litt_chunk_cache_key_count{cache="chunk_write"}') as number
  const blocks = 40
  const changes = await movedBy(async () => {
    for (let n = 0; n < blocks; n++) await mine()
  })
  const chunk = (name: string) => changes[`litt_chunk_cache_${name}{cache="chunk_write"}`] ?? 0
  expect(chunk('keys_added_total')).toBe(TABLES.length * blocks)
  const left = chunk('eviction_latency_seconds_count')
  expect(left).toBe(TABLES.length * blocks - chunk('key_count'))
  expect(left).toBeGreaterThan(blocks / 2)
  const after = samplesOf(await scrape())
  expect(after.get('litt_chunk_cache_key_count{cache="chunk_write"}')).toBe(held + chunk('key_count'))
  expect(after.get('litt_chunk_cache_weight_bytes{cache="chunk_write"}')).toBeLessThanOrEqual(TABLES.length * SMALL)
  expect(chunk('weight_added_bytes_total')).toBeGreaterThan((TABLES.length * SMALL) / 2)
})

it('a collecting pass counts for its table only', async () => {
  expect(await node.stop()).toBe(0)
  const retention = ['--evm.trace_capsule_window_blocks=8', '--littable.segment_keys=16', '--littable.gc_period=100ms']
  node = await startNode(['dev', '--home', home, QUIET, ...retention])
  await quiet(node)
  const passes = 'litt_garbage_collection_latency_seconds_count'
  const keys = async (name: string) => samplesOf(await scrape()).get(`litt_table_key_count{table="${name}"}`) as number
  const before = await keys('capsules')
  // The floor of capsules rises with every sixty-fourth block.
  const height = Number((await rpc(node.url, 'eth_blockNumber')).result)
  const blocks = 128 - (height % 64)
  const changes = await movedBy(async () => {
    for (let n = 0; n < blocks; n++) await mine()
    // Segments of eight blocks: of all that is there, the window and less than two segments stay.
    await until('collection', async () => (await keys('capsules')) <= 2 * (8 + 16), 100)
  })
  expect(changes[`${passes}{table="capsules"}`]).toBeGreaterThanOrEqual(1)
  expect(Object.keys(changes).filter((sample) => sample.startsWith(passes))).toEqual([`${passes}{table="capsules"}`])
  const kept = await keys('capsules')
  expect(kept).toBeGreaterThanOrEqual(2 * 8)
  expect(kept).toBeLessThanOrEqual(2 * (8 + 16))
  expect(changes['litt_table_key_count{table="capsules"}']).toBe(kept - before)
  expect(changes['litt_keys_written_total{table="capsules"}']).toBe(2 * blocks)
  for (const name of ['blocks', 'receipts']) expect(changes[`litt_table_key_count{table="${name}"}`]).toBe(2 * blocks)
})
