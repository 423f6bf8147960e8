// Every litt_* metric of a store without a node: it changes by exactly the test's own operations,
// for the right table and cache.
import fs from 'node:fs'
import path from 'node:path'
import { type Littable, type LittableIterator, type LittableTable, openLittable } from 'hearth'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { moved, parseScrape, type Scrape } from '../unit/scrape.ts'
import { tempHome } from './harness.ts'

const dir = tempHome()
let store: Littable
let table: LittableTable
let other: LittableTable

/**
 * Length of each value, in bytes. Values are not compressed, so that each is one frame of its size.
 */
const VALUE = 1000

const key = (n: number): Uint8Array => Buffer.from(`key-${n}`)
const value = (n: number): Uint8Array => new Uint8Array(VALUE).fill(n)

beforeAll(async () => {
  store = await openLittable({ roots: [path.join(dir, 'store')], MetricsEnabled: true, MetricsPort: 0, gcPeriodMs: 3_600_000 })
  table = await store.table({ name: 'cached', writeCacheBytes: 1 << 20, readCacheBytes: 1 << 20, segmentKeys: 40 })
  other = await store.table({ name: 'bare' })
})
afterAll(async () => {
  await store.close()
  fs.rmSync(dir, { recursive: true, force: true })
})

async function scrape(): Promise<Scrape> {
  return parseScrape(await (await fetch(store.metricsUrl as string)).text(), 'prometheus')
}

/** What a piece of work moves, without the sums and buckets of times. */
async function movedBy(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = await scrape()
  await work()
  const changes = Object.entries(moved(before, await scrape()))
  return Object.fromEntries(changes.filter(([sample]) => !/_sum[{ ]|_bucket\{/.test(sample)))
}

/** Counters, whose samples end in _total. */
const COUNTERS = /^(bytes|keys)_|_hits$|_misses$|^flush_count$|_added(_bytes)?$/

const of = (label: string, each: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(each).map(([name, by]) => [`litt_${name}${COUNTERS.test(name) ? '_total' : ''}{${label}}`, by]))

const cached = (each: Record<string, unknown>) => of('table="cached"', each)
const bare = (each: Record<string, unknown>) => of('table="bare"', each)

it('is idle', async () => {
  expect(await movedBy(() => new Promise((resolve) => setTimeout(resolve, 300)))).toEqual({})
})

it('puts: bytes, keys and times, and the cache of puts', async () => {
  const size = table.size()
  const changes = await movedBy(async () => {
    for (let n = 0; n < 5; n++) await table.put({ key: key(n), value: value(n), secondary: [{ key: key(100 + n), start: 0, end: 10 }] })
  })
  expect(changes).toEqual({
    ...cached({
      bytes_written: 5 * VALUE,
      keys_written: 10,
      write_latency_seconds_count: 5,
      table_key_count: 10,
      table_size_bytes: Number(table.size() - size),
    }),
    ...of('cache="chunk_write"', {
      chunk_cache_key_count: 5,
      chunk_cache_keys_added: 5,
      chunk_cache_weight_bytes: expect.any(Number),
      chunk_cache_weight_added_bytes: changes['litt_chunk_cache_weight_bytes{cache="chunk_write"}'],
    }),
  })
  expect(changes['litt_table_size_bytes{table="cached"}']).toBeGreaterThan(5 * VALUE)
  expect(changes['litt_chunk_cache_weight_bytes{cache="chunk_write"}']).toBeGreaterThanOrEqual(5 * VALUE)
  // The same once more writes nothing.
  expect(await movedBy(() => table.put({ key: key(0), value: value(0), secondary: [{ key: key(100), start: 0, end: 10 }] }))).toEqual({})
})

it('puts into a table without caches move that table alone', async () => {
  const size = other.size()
  const batch = [1, 2, 3].map((n) => ({ key: key(n), value: value(n) }))
  expect(await movedBy(() => other.putBatch(batch))).toEqual(
    bare({
      bytes_written: 3 * VALUE,
      keys_written: 3,
      write_latency_seconds_count: 3,
      table_key_count: 3,
      table_size_bytes: Number(other.size() - size),
    }),
  )
})

it('reads: hits and misses, of values and parts', async () => {
  const found = { keys_read: 1, read_latency_seconds_count: 1 }
  expect(await movedBy(() => table.get(key(1)))).toEqual(cached({ ...found, bytes_read: VALUE, cache_hits: 1 }))
  expect(await movedBy(() => table.get(key(101)))).toEqual(cached({ ...found, bytes_read: 10, cache_hits: 1 }))
  expect(await movedBy(() => table.getRange(key(1), 5, 25))).toEqual(cached({ ...found, bytes_read: 20, cache_hits: 1 }))
  const missed = { ...found, cache_misses: 1, cache_miss_latency_seconds_count: 1 }
  expect(await movedBy(() => other.get(key(1)))).toEqual(bare({ ...missed, bytes_read: VALUE }))
  expect(await movedBy(() => other.multiGet([key(1), key(2), key(9)]))).toEqual(
    bare({ keys_read: 2, read_latency_seconds_count: 2, cache_misses: 2, cache_miss_latency_seconds_count: 2, bytes_read: 2 * VALUE }),
  )
  expect(await movedBy(() => table.get(key(9)))).toEqual({})
  expect(await movedBy(() => table.exists(key(1)))).toEqual({})
})

it('flushes: one each, with its parts, of its table', async () => {
  const flush = {
    flush_count: 1,
    flush_latency_seconds_count: 1,
    segment_flush_latency_seconds_count: 1,
    keymap_flush_latency_seconds_count: 1,
  }
  await table.put({ key: key(10), value: value(10) })
  expect(await movedBy(() => table.flush())).toEqual(cached(flush))
  expect(await movedBy(() => other.flush())).toEqual(bare(flush))
  expect(await movedBy(() => store.flush())).toEqual({ ...cached(flush), ...bare(flush) })
})

it('iterators: open until their end, a close, or a left loop', async () => {
  const open: LittableIterator[] = []
  const opened = await movedBy(async () => {
    open.push(table.iterate({ batch: 1 }), table.iterate({ reverse: true }))
    for (const records of open) await records.next()
  })
  expect(opened).toEqual(cached({ open_iterator_count: 2 }))
  expect(await movedBy(async () => open[0]?.close())).toEqual(cached({ open_iterator_count: -1 }))
  expect(await movedBy(async () => open[1]?.return?.())).toEqual(cached({ open_iterator_count: -1 }))
  const left = await movedBy(async () => {
    for await (const _ of other.iterate()) break
    for await (const _ of other.iterate({ reverse: true }));
  })
  expect(left).toEqual({})
})

it('frames read: added, found again, gone with their segment', async () => {
  await store.close()
  // Without threads in the background, what a call makes due is done when it returns.
  const options = { MetricsEnabled: true, MetricsPort: 0, backgroundThreads: 0 }
  store = await openLittable({ roots: [path.join(dir, 'store')], ...options })
  table = await store.table({ name: 'cached', readCacheBytes: 1 << 20, segmentKeys: 40 })
  other = await store.table({ name: 'bare' })
  // A segment holds forty keys: earlier keys share theirs with the first of these, then come two
  // whole segments, and a rest.
  for (let n = 200; n < 320; n++) await table.put({ key: key(n), value: value(n), number: 5n })
  const read = { keys_read: 1, read_latency_seconds_count: 1, bytes_read: VALUE }
  const first = await movedBy(() => table.get(key(240)))
  const weight = first['litt_chunk_cache_weight_bytes{cache="chunk_read"}'] as number
  expect(weight).toBeGreaterThanOrEqual(VALUE)
  expect(first).toEqual({
    ...cached({ ...read, cache_misses: 1, cache_miss_latency_seconds_count: 1 }),
    ...of('cache="chunk_read"', {
      chunk_cache_key_count: 1,
      chunk_cache_keys_added: 1,
      chunk_cache_weight_bytes: weight,
      chunk_cache_weight_added_bytes: weight,
    }),
  })
  expect(await movedBy(() => table.get(key(240)))).toEqual(cached({ ...read, cache_hits: 1 }))

  // Records without a number stay, and so does their segment. The two whole segments are deleted,
  // with their keys, bytes and frames.
  const size = table.size()
  const gone = await movedBy(async () => {
    await table.setFloor(6n)
    expect(await table.collect()).toBe(2)
  })
  expect(gone).toEqual({
    ...cached({ garbage_collection_latency_seconds_count: 1, table_key_count: -80, table_size_bytes: Number(table.size() - size) }),
    ...of('cache="chunk_read"', {
      chunk_cache_key_count: -1,
      chunk_cache_weight_bytes: -weight,
      chunk_cache_eviction_latency_seconds_count: 1,
    }),
  })
  expect(gone['litt_table_size_bytes{table="cached"}']).toBeLessThan(-80 * VALUE)
})

it('no series of before, and none of milliseconds', async () => {
  const names = [...(await scrape()).keys()]
  expect(names.filter((name) => /chunk_(read|write)_cache|_ms$|_millis/.test(name))).toEqual([])
  expect(names.every((name) => name.startsWith('litt_'))).toBe(true)
})
