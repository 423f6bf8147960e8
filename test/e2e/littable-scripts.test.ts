// import { openLittable } from 'hearth': the whole surface by value, its errors by class, and the
// metrics of a store without a node.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import {
  ConflictError,
  CorruptError,
  LeaseExpiredError,
  type Littable,
  LittableError,
  type LittableIterator,
  type LittableRecord,
  LockedError,
  openLittable,
  PrunedError,
  TooLargeError,
} from 'hearth'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { endOf, ROOT, tempHome } from './harness.ts'
import { sleep, until } from './waiting.ts'

const dir = tempHome()
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const text = (value: Uint8Array | undefined): string | undefined => (value === undefined ? undefined : new TextDecoder().decode(value))

let count = 0
const fresh = (): string => path.join(dir, `store-${count++}`)
const opened: Littable[] = []
const open = async (root: string, options: Partial<Parameters<typeof openLittable>[0]> = {}): Promise<Littable> => {
  const store = await openLittable({ roots: [root], ...options })
  opened.push(store)
  return store
}
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close()
})

const all = async (records: AsyncIterable<LittableRecord>): Promise<string[]> => {
  const keys: string[] = []
  for await (const { key } of records) keys.push(text(key) as string)
  return keys
}

describe('a table', () => {
  it('keeps what is put, whole, in part and under further keys', async () => {
    const store = await open(fresh())
    const table = await store.table({ name: 'values', compression: 'zstd' })
    const secondary = [{ key: bytes('part'), start: 6, end: 11 }]
    await table.put({ key: bytes('k'), value: bytes('hello world'), secondary, number: 2n ** 63n + 1n })
    await table.put({ key: bytes('empty'), value: new Uint8Array() })
    expect(text(await table.get(bytes('k')))).toBe('hello world')
    expect(text(await table.get(bytes('part')))).toBe('world')
    expect(text(await table.getRange(bytes('k'), 0, 5))).toBe('hello')
    expect(await table.get(bytes('empty'))).toHaveLength(0)
    expect(await table.get(bytes('none'))).toBeUndefined()
    expect((await table.multiGet([bytes('part'), bytes('none'), bytes('k')])).map(text)).toEqual(['world', undefined, 'hello world'])
    expect([await table.exists(bytes('part')), await table.exists(bytes('none'))]).toEqual([true, false])
    expect([table.len(), table.floor()]).toEqual([3n, 0n])
    expect(table.size()).toBeGreaterThan(0n)
    const records: LittableRecord[] = []
    for await (const record of table.iterate()) records.push(record)
    expect(records).toMatchObject([
      { number: 2n ** 63n + 1n, secondary: [{ start: 6, end: 11 }] },
      { number: undefined, secondary: [] },
    ])
    expect(text(records[0]?.secondary[0]?.key)).toBe('part')
    expect(await store.tableNames()).toEqual(['values'])
  })

  it('survives closing, and is read beside a writer', async () => {
    const root = fresh()
    const store = await open(root)
    const table = await store.table({ name: 't', keys: 'sequence' })
    await table.put({ key: bytes('a'), value: bytes('1') })
    await table.flush()
    const reader = await open(root, { readOnly: true })
    const seen = await reader.table({ name: 't' })
    expect(text(await seen.get(bytes('a')))).toBe('1')
    await table.put({ key: bytes('b'), value: bytes('2') })
    await store.flush()
    await seen.refresh()
    expect(text(await seen.get(bytes('b')))).toBe('2')
    await expect(seen.put({ key: bytes('c'), value: bytes('3') })).rejects.toMatchObject({ code: 'READ_ONLY' })
    await store.close()
    const again = await (await open(root)).table({ name: 't' })
    expect([text(await again.get(bytes('b'))), again.len()]).toEqual(['2', 2n])
  })

  it('iterates forward and backward, from a key, in any batches', async () => {
    const store = await open(fresh())
    const table = await store.table({ name: 't', segmentKeys: 64 })
    const names = Array.from({ length: 1000 }, (_, n) => `k${n}`)
    await table.putBatch(names.map((name) => ({ key: bytes(name), value: bytes(name.repeat(3)) })))
    expect(await all(table.iterate())).toEqual(names)
    expect(await all(table.iterate({ batch: 1, from: bytes('k990') }))).toEqual(names.slice(990))
    expect(await all(table.iterate({ reverse: true, batch: 7 }))).toEqual([...names].reverse())
    expect(await all(table.iterate({ reverse: true, from: bytes('k3') }))).toEqual(['k3', 'k2', 'k1', 'k0'])
    expect(await all(table.iterate({ from: bytes('none') }))).toEqual([])
    for await (const { value } of table.iterate()) {
      expect(text(value)).toBe('k0k0k0')
      break
    }
  })

  it('forgets below a floor, cuts back, and can be dropped', async () => {
    const store = await open(fresh())
    const table = await store.table({ name: 't', segmentKeys: 10 })
    const positions: bigint[] = []
    for (let n = 0; n < 100; n++) {
      await table.put({ key: bytes(`k${n}`), value: bytes('v'), number: BigInt(n) })
      positions.push(await table.position())
    }
    await table.setFloor(50n)
    const pruned = await table.get(bytes('k49')).catch((e: unknown) => e)
    if (pruned !== undefined) expect(pruned).toMatchObject({ name: 'PrunedError', code: 'PRUNED', floor: 50n, table: 't' })
    const late = await table.get(bytes('k45')).catch((e: unknown) => e)
    expect(late === undefined || late instanceof PrunedError).toBe(true)
    await table.collect()
    expect(table.floor()).toBe(50n)
    expect(table.len()).toBeLessThanOrEqual(60n)
    expect(text(await table.get(bytes('k50')))).toBe('v')
    await table.cut(positions[79] as bigint)
    expect(await table.get(bytes('k80'))).toBeUndefined()
    expect(text(await table.get(bytes('k79')))).toBe('v')
    expect(await table.position()).toBe(positions[79])
    await expect(table.cut((positions[60] as bigint) + 1n)).rejects.toMatchObject({ code: 'NO_SUCH_POSITION' })
    await expect(store.dropTable('t')).rejects.toMatchObject({ code: 'ALREADY_OPEN' })
    table.close()
    await expect(table.get(bytes('k50'))).rejects.toMatchObject({ code: 'CLOSED' })
    await store.dropTable('t')
    expect(await store.tableNames()).toEqual([])
  })
})

describe('errors', () => {
  it('have classes and codes', async () => {
    const root = fresh()
    const store = await open(root)
    const table = await store.table({ name: 't', keys: 'sequence' })
    await table.put({ key: bytes('k'), value: bytes('1') })
    await table.put({ key: bytes('k'), value: bytes('1') })
    const conflict = await table.put({ key: bytes('k'), value: bytes('2') }).catch((e: unknown) => e)
    expect(conflict).toBeInstanceOf(ConflictError)
    expect(conflict).toMatchObject({ code: 'CONFLICT', table: 't', key: bytes('k') })
    const large = await table.put({ key: new Uint8Array(12), value: bytes('') }).catch((e: unknown) => e)
    expect(large).toBeInstanceOf(TooLargeError)
    expect(large).toMatchObject({ size: 12n, limit: 11n })
    await expect(table.getRange(bytes('k'), 0, 2)).rejects.toMatchObject({ code: 'BAD_RANGE' })
    await expect(table.getRange(bytes('k'), -1, 2)).rejects.toBeInstanceOf(RangeError)
    await expect(table.put({ key: bytes('n'), value: bytes(''), number: -1n })).rejects.toBeInstanceOf(RangeError)
    await expect(store.table({ name: 't' })).rejects.toMatchObject({ code: 'ALREADY_OPEN' })
    await expect(store.table({ name: 'no/name' })).rejects.toMatchObject({ code: 'BAD_NAME' })
    await expect(store.table({ name: 'x', shards: 0 })).rejects.toMatchObject({ code: 'BAD_SETTING' })
    await expect(store.table(JSON.parse('{"name":"x","shard":2}'))).rejects.toMatchObject({
      code: 'BAD_OPTIONS',
      message: expect.stringContaining('shard'),
    })
    const locked = await openLittable({ roots: [root] }).catch((e: unknown) => e)
    expect(locked).toBeInstanceOf(LockedError)
    expect(locked).toMatchObject({ code: 'LOCKED', pid: process.pid })
    await store.close()
    await expect(table.flush()).rejects.toMatchObject({ code: 'CLOSED' })
    expect(() => table.len()).toThrow(LittableError)
    await store.close()
    const lone = await openLittable({ roots: [path.join(root, 't')] }).catch((e: unknown) => e)
    expect(lone).toMatchObject({ code: 'FOREIGN_ROOT' })
  })

  it('name the file of a flipped bit, and the iterator continues', async () => {
    const root = fresh()
    const store = await open(root)
    const table = await store.table({ name: 't' })
    for (const name of ['a', 'b', 'c']) await table.put({ key: bytes(name), value: bytes(name.repeat(5000)) })
    await store.close()
    const segment = fs.readdirSync(path.join(root, 't')).find((name) => name.endsWith('.seg')) as string
    const file = path.join(root, 't', segment)
    const content = fs.readFileSync(file)
    const at = content.indexOf('bbbbbbbbbb')
    content[at + 2000] = 0x63
    fs.writeFileSync(file, content)
    const damaged = await (await open(root)).table({ name: 't' })
    expect(text(await damaged.get(bytes('a')))).toBe('a'.repeat(5000))
    const corrupt = await damaged.get(bytes('b')).catch((e: unknown) => e)
    expect(corrupt).toBeInstanceOf(CorruptError)
    expect(corrupt).toMatchObject({ code: 'CORRUPT', path: file })
    const records = damaged.iterate()
    expect(text((await records.next()).value?.key)).toBe('a')
    await expect(records.next()).rejects.toBeInstanceOf(CorruptError)
    expect(text((await records.next()).value?.key)).toBe('c')
    expect((await records.next()).done).toBe(true)
  })

  it('an iterator ends with its lease', async () => {
    const store = await open(fresh(), { iteratorLeaseMs: 1000 })
    const table = await store.table({ name: 't' })
    await table.putBatch([1, 2, 3].map((n) => ({ key: bytes(`${n}`), value: bytes('') })))
    let records: LittableIterator | undefined
    // A busy machine may take longer than the lease before the first record: another iterator is
    // opened then.
    await until('a first record', async () => {
      records = table.iterate({ batch: 1 })
      const first = await records.next().catch(() => undefined)
      return text(first?.value?.key) === '1'
    })
    await sleep(2000)
    const expired = await records?.next().catch((e: unknown) => e)
    expect(expired).toBeInstanceOf(LeaseExpiredError)
  })
})

describe('metrics', () => {
  it('a page of its own on request, with this store only', async () => {
    expect((await open(fresh())).metricsUrl).toBeUndefined()
    const store = await open(fresh(), { MetricsEnabled: true, MetricsPort: 0 })
    const table = await store.table({ name: 't' })
    await table.put({ key: bytes('k'), value: bytes('12345') })
    await table.flush()
    await table.get(bytes('k'))
    const page = await (await fetch(store.metricsUrl as string)).text()
    expect(page).toContain('litt_bytes_written_total{table="t"} 5\n')
    expect(page).toContain('litt_keys_read_total{table="t"} 1\n')
    expect(page).toContain('litt_flush_count_total{table="t"} 1\n')
    const names = [...page.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string)
    expect(names.length).toBeGreaterThan(20)
    expect(names.filter((name) => !name.startsWith('litt_'))).toEqual([])
    const MetricsPort = Number(new URL(store.metricsUrl as string).port)
    await expect(open(fresh(), { MetricsEnabled: true, MetricsPort })).rejects.toMatchObject({
      message: expect.stringContaining('littable.MetricsPort'),
    })
    await store.close()
    await expect(fetch(store.metricsUrl as string)).rejects.toThrow()
  })
})

it('the example runs', async () => {
  const child = spawn(process.execPath, [path.join(ROOT, 'docs/examples/littable.mjs'), fresh()])
  let out = ''
  const take = (data: Buffer): void => {
    out += data.toString()
  }
  for (const stream of [child.stdout, child.stderr]) stream.on('data', take)
  const code = await endOf(child)
  expect([code, out]).toEqual([0, expect.stringContaining('block 7 has 3 bytes')])
})
