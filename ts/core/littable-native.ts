// The littable stores of scripts over the native module. Keys and values cross as bytes, a batch of
// an iterator in one piece.
import * as native from '../../native/index.js'
import { jsonOf } from './chunks.ts'
import type {
  IterateOptions,
  LittableGroup,
  LittableIterator,
  LittableRecord,
  LittableStore,
  LittableStoreOptions,
  LittableTable,
  LittableTableOptions,
  SecondaryKey,
} from './littable.ts'
import { littableErrorFrom } from './littable-error.ts'

/** First byte of every answer: what follows is a result, or an error value. */
const OK = 0

/** Records that an iterator reads at once, by default and at most. */
const BATCH_RECORDS = 256
const BATCH_RECORDS_MAX = 65_536

const U32_MAX = 2 ** 32 - 1

/** The bytes behind the mark; an error value is thrown. */
function unwrap(answer: Uint8Array): Uint8Array {
  const body = answer.subarray(1)
  if (answer[0] !== OK) throw littableErrorFrom(body)
  return body
}

const unwrapSome = (answer: Uint8Array | null): Uint8Array | undefined => (answer === null ? undefined : unwrap(answer))

/** A whole number that fits 32 bits; the native side would wrap it. */
function u32(n: number, what: string): number {
  if (!Number.isInteger(n) || n < 0 || n > U32_MAX) throw new RangeError(`${what} is ${n}, not a whole number from 0 to ${U32_MAX}`)
  return n
}

function u64(n: bigint, what: string): bigint {
  if (n < 0n || n >= 2n ** 64n) throw new RangeError(`${what} is ${n}, not from 0 to 2^64-1`)
  return n
}

const secondaryOf = ({ key, start, end }: SecondaryKey): native.NativeLittSecondary => ({
  key,
  start: u32(start, 'start of a part'),
  end: u32(end, 'end of a part'),
})

const groupOf = ({ key, value, secondary, number }: LittableGroup): native.NativeLittGroup => ({
  key,
  value,
  ...(secondary === undefined ? {} : { secondary: secondary.map(secondaryOf) }),
  ...(number === undefined ? {} : { number: u64(number, 'the number of a group') }),
})

/** Reads the records of a batch; their bytes are views of it. */
function* records(batch: Uint8Array): Generator<LittableRecord> {
  const view = new DataView(batch.buffer, batch.byteOffset, batch.byteLength)
  let at = 0
  const word = (): number => {
    at += 4
    return view.getUint32(at - 4, true)
  }
  const bytes = (): Uint8Array => {
    const length = word()
    at += length
    return batch.subarray(at - length, at)
  }
  while (at < batch.byteLength) {
    const [key, value] = [bytes(), bytes()]
    const numbered = view.getUint8(at) === 1
    const number = numbered ? view.getBigUint64(at + 1, true) : undefined
    at += 9
    const secondary = Array.from({ length: word() }, () => ({ key: bytes(), start: word(), end: word() }))
    yield { key, value, secondary, number }
  }
}

class NativeIterator implements LittableIterator {
  private readonly opening: Promise<native.NativeLittIter | Uint8Array | null>
  private readonly batch: number
  private read: Generator<LittableRecord> | undefined
  private ended = false

  constructor(opening: Promise<native.NativeLittIter | Uint8Array | null>, batch: number) {
    this.opening = opening
    this.batch = batch
    // The error does not matter if no record is ever read.
    opening.catch(() => undefined)
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<LittableRecord>> {
    while (!this.ended) {
      const record = this.read?.next()
      if (record !== undefined && record.done !== true) return record
      const opened = await this.opening
      if (opened instanceof Uint8Array) {
        this.ended = true
        unwrap(opened)
      }
      if (!(opened instanceof native.NativeLittIter)) break
      const batch = unwrap(await opened.next(this.batch))
      if (batch.byteLength === 0) break
      this.read = records(batch)
    }
    this.close()
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<LittableRecord>> {
    this.close()
    return { done: true, value: undefined }
  }

  close(): void {
    if (this.ended) return
    this.ended = true
    this.read = undefined
    const end = (opened: native.NativeLittIter | Uint8Array | null): void => {
      if (opened instanceof native.NativeLittIter) opened.close()
    }
    this.opening.then(end, () => undefined)
  }
}

class NativeTable implements LittableTable {
  readonly name: string
  private readonly table: native.NativeLittTable

  constructor(name: string, table: native.NativeLittTable) {
    this.name = name
    this.table = table
  }

  put(group: LittableGroup): Promise<void> {
    return this.putBatch([group])
  }

  async putBatch(groups: readonly LittableGroup[]): Promise<void> {
    unwrap(await this.table.put(groups.map(groupOf)))
  }

  async get(key: Uint8Array): Promise<Uint8Array | undefined> {
    return unwrapSome(await this.table.get(key))
  }

  async getRange(key: Uint8Array, start: number, end: number): Promise<Uint8Array | undefined> {
    return unwrapSome(await this.table.getRange(key, u32(start, 'start of a range'), u32(end, 'end of a range')))
  }

  async multiGet(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]> {
    const values = await this.table.multiGet([...keys])
    if (Array.isArray(values)) return values.map(unwrapSome)
    unwrap(values)
    return []
  }

  async exists(key: Uint8Array): Promise<boolean> {
    return unwrap(await this.table.exists(key))[0] === 1
  }

  async flush(): Promise<void> {
    unwrap(await this.table.flush())
  }

  len(): bigint {
    return this.totals()[0]
  }

  size(): bigint {
    return this.totals()[1]
  }

  floor(): bigint {
    return this.totals()[2]
  }

  private totals(): [bigint, bigint, bigint] {
    const totals = this.table.totals()
    if (!Array.isArray(totals)) unwrap(totals)
    const [keys, bytes, floor] = totals as [bigint, bigint, bigint]
    return [keys, bytes, floor]
  }

  iterate({ reverse = false, from, batch = BATCH_RECORDS }: IterateOptions = {}): LittableIterator {
    const records = Math.min(Math.max(1, u32(batch, 'batch')), BATCH_RECORDS_MAX)
    return new NativeIterator(this.table.iterate(reverse, from), records)
  }

  async setFloor(floor: bigint): Promise<void> {
    unwrap(await this.table.setFloor(u64(floor, 'the floor')))
  }

  async setTtl(ms: number | undefined): Promise<void> {
    unwrap(await this.table.setTtl(ms === undefined ? undefined : u32(ms, 'the time to live')))
  }

  async collect(): Promise<number> {
    const body = unwrap(await this.table.collect())
    return new DataView(body.buffer, body.byteOffset).getUint32(0, true)
  }

  async position(): Promise<bigint> {
    const body = unwrap(await this.table.position())
    return new DataView(body.buffer, body.byteOffset).getBigUint64(0, true)
  }

  async cut(position: bigint): Promise<void> {
    unwrap(await this.table.cut(u64(position, 'the position')))
  }

  async refresh(): Promise<void> {
    unwrap(await this.table.refresh())
  }

  close(): void {
    this.table.close()
  }
}

class NativeStore implements LittableStore {
  private readonly store: native.NativeLittable

  constructor(store: native.NativeLittable) {
    this.store = store
  }

  async table(options: LittableTableOptions): Promise<LittableTable> {
    const opened = await this.store.table(JSON.stringify(options))
    if (opened instanceof native.NativeLittTable) return new NativeTable(options.name, opened)
    unwrap(opened)
    throw new Error('the core gave neither a table nor an error')
  }

  async tableNames(): Promise<string[]> {
    return jsonOf<string[]>(unwrap(await this.store.tableNames()))
  }

  async dropTable(name: string): Promise<void> {
    unwrap(await this.store.dropTable(name))
  }

  async flush(): Promise<void> {
    unwrap(await this.store.flush())
  }

  metricsSnapshot(): string {
    return this.store.metricsSnapshot()
  }

  async close(): Promise<void> {
    unwrap(await this.store.close())
  }
}

/** Opens a store, or makes it. */
export async function openStore(options: LittableStoreOptions): Promise<LittableStore> {
  const opened = await native.openLittable(JSON.stringify(options))
  if (opened instanceof native.NativeLittable) return new NativeStore(opened)
  unwrap(opened)
  throw new Error('the core gave neither a store nor an error')
}
