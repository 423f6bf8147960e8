// What lies under the chain: the tables of littable, and the rows of the state store.

import type { IterateOptions, LittableIterator, LittableStore, LittableTable } from '../core/littable.ts'
import type { Core } from '../core/port.ts'
import { readBytes } from '../core/results.ts'
import type { AbortOptions } from './abort-options.ts'
import { withTypedErrors } from './errors.ts'
import { Packed } from './packed.ts'
import { type Rows, readAhead } from './reading/rows.ts'
import { type AnyData, type Data, dataOf, type Form } from './values.ts'

/** A table of the node, for reading: keys and values as the node writes them. */
export interface NodeTable {
  readonly name: string
  /** The bytes under a key; undefined where it is not there. */
  get(key: Uint8Array): Promise<Uint8Array | undefined>
  getRange(key: Uint8Array, start: number, end: number): Promise<Uint8Array | undefined>
  multiGet(keys: readonly Uint8Array[]): Promise<(Uint8Array | undefined)[]>
  exists(key: Uint8Array): Promise<boolean>
  /** Keys, primary and secondary. */
  len(): bigint
  /** Bytes of the table's files. */
  size(): bigint
  /** Lowest height that is kept. */
  floor(): bigint
  /** Groups in the order of writing. */
  iterate(options?: IterateOptions): LittableIterator
  /** Sees what the node has written meanwhile. */
  refresh(): Promise<void>
  /** Lets go of the table. */
  close(): void
}

/** Opens the tables of a node on first use. */
export class Tables {
  private readonly open: () => Promise<LittableStore>
  private store: Promise<LittableStore> | undefined

  constructor(open: () => Promise<LittableStore>) {
    this.open = open
  }

  async table(name: string): Promise<NodeTable> {
    return readable(await (await this.opened()).table({ name }))
  }

  async names(): Promise<string[]> {
    return await (await this.opened()).tableNames()
  }

  async close(): Promise<void> {
    const { store } = this
    this.store = undefined
    await (await store?.catch(() => undefined))?.close()
  }

  private opened(): Promise<LittableStore> {
    this.store ??= this.open()
    return this.store
  }
}

/** The part of a table that reads. */
const readable = (table: LittableTable): NodeTable => ({
  name: table.name,
  get: (key) => table.get(key),
  getRange: (key, start, end) => table.getRange(key, start, end),
  multiGet: (keys) => table.multiGet(keys),
  exists: (key) => table.exists(key),
  len: () => table.len(),
  size: () => table.size(),
  floor: () => table.floor(),
  iterate: (options) => table.iterate(options),
  refresh: () => table.refresh(),
  close: () => table.close(),
})

/** A data DB of the state store. */
export type DataDb = 'account' | 'code' | 'storage' | 'legacy' | 'metadata'

/** A committed row. */
export interface KvRow<F extends Form = 'bytes'> {
  /** Account: address. Storage: address and slot, 32 bytes big-endian. Code: hash. */
  readonly key: Data<F>
  /** The value as the store encodes it. */
  readonly value: Data<F>
  /** Height of its last change; undefined for code and metadata. */
  readonly height: bigint | undefined
}

/** Which rows. */
export interface KvOptions<F extends Form = 'bytes'> extends AbortOptions {
  /** Lowest key; the first where absent. */
  readonly from?: AnyData | undefined
  /** Keys below this one alone; all where absent. */
  readonly to?: AnyData | undefined
  /** Keys that begin so, in place of `from` and `to`. */
  readonly prefix?: AnyData | undefined
  /** From the highest key down. */
  readonly reverse?: boolean | undefined
  /** Default: bytes. */
  readonly form?: F | undefined
}

/** The committed rows of the state store. */
export interface Kv {
  /**
   * Rows of a data DB in the order of their keys. Each batch is of one moment; on a node that
   * commits meanwhile, a later batch may be of a later one, and `height` says when a row was last
   * changed. On a snapshot all are of its block.
   */
  rows<F extends Form = 'bytes'>(db: DataDb, options?: KvOptions<F>): Rows<KvRow<F>>
}

interface Keys {
  readonly from: string | undefined
  readonly to: string | undefined
}

/** The lowest key above all that begin so; undefined where there is none. */
function above(prefix: string): string | undefined {
  const bytes = Buffer.from(prefix.slice(2), 'hex')
  const last = bytes.findLastIndex((byte) => byte !== 0xff)
  if (last < 0) return undefined
  bytes[last] = (bytes[last] as number) + 1
  return `0x${bytes.toString('hex', 0, last + 1)}`
}

/** The keys right behind one. */
const behind = (key: string, { from, to }: Keys, reverse: boolean): Keys => (reverse ? { from, to: key } : { from: `${key}00`, to })

/** Rows of the state store of a node. */
export const kvOf = (core: Core): Kv => ({
  rows<F extends Form = 'bytes'>(db: DataDb, options: KvOptions<F> = {}): Rows<KvRow<F>> {
    const { from, to, prefix, reverse = false, form = 'bytes' as F, ...abort } = options
    const keyOf = (key: AnyData | undefined): string | undefined => (key === undefined ? undefined : dataOf(key, 'a key'))
    const begin = keyOf(prefix)
    const all: Keys = begin === undefined ? { from: keyOf(from), to: keyOf(to) } : { from: begin, to: above(begin) }
    return readAhead(
      async () => all,
      async (keys: Keys) => {
        const bytes = await withTypedErrors(readBytes(core, 'read', { what: 'rows', of: { db, ...keys, reverse } }))
        const packed = new Packed(bytes, form)
        const more = packed.flag()
        const items = packed.list(() => ({ key: packed.sized(), value: packed.sized(), height: packed.optional(() => packed.u64()) }))
        const last = items.at(-1)
        return { items, next: more && last !== undefined ? behind(dataOf(last.key, 'a key'), keys, reverse) : undefined }
      },
      abort,
    )
  },
})
