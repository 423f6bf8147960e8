// The state after a block: accounts, slots and code, many in one call.

import type { Core } from '../../core/port.ts'
import { readBytes } from '../../core/results.ts'
import { type AbortOptions, checkSignal, within } from '../abort-options.ts'
import { withTypedErrors } from '../errors.ts'
import { Packed } from '../packed.ts'
import {
  ADDRESS_BYTES,
  type AnyData,
  type AnyQuantity,
  type BlockPlace,
  type Data,
  dataOf,
  type Form,
  quantityOf,
  WORD_BYTES,
} from '../values.ts'
import { type BlockId, blockId } from './chain.ts'

/** Keys that go to the core in one request. */
const KEYS_AT_ONCE = 10_000

/** An account. */
export interface Account<F extends Form = 'hex'> {
  readonly nonce: bigint
  /** Wei. */
  readonly balance: bigint
  /** Keccak-256 of its code; that of no bytes where it has none. */
  readonly codeHash: Data<F>
}

/** How a state is read. */
export interface StateOptions<F extends Form = 'hex'> extends AbortOptions {
  readonly form?: F | undefined
}

const isMany = <T>(value: T | readonly T[]): value is readonly T[] => Array.isArray(value)

/**
 * The state after one block. Which block a tag means is settled by the first read, so all reads of
 * one `State` are of the same block; where the chain leaves it, they reject with `ReorgError` or
 * `NotRetainedError`.
 */
export class State<F extends Form = 'hex'> {
  private readonly core: Core
  private readonly place: BlockPlace
  private readonly form: F
  private readonly abort: AbortOptions
  private found: Promise<BlockId> | undefined

  /** @internal */
  constructor(core: Core, place: BlockPlace, { form, ...abort }: StateOptions<F>) {
    this.core = core
    this.place = place
    this.form = (form ?? 'hex') as F
    this.abort = abort
  }

  /** The block after which this is. */
  block(): Promise<BlockId> {
    this.found ??= blockId(this.core, this.place).catch((e: unknown) => {
      this.found = undefined
      throw e
    })
    return this.found
  }

  /** An account; undefined where there is none. */
  account(address: AnyData): Promise<Account<F> | undefined>
  /** Accounts, in the order of the addresses. */
  account(addresses: readonly AnyData[]): Promise<(Account<F> | undefined)[]>
  async account(given: AnyData | readonly AnyData[]): Promise<Account<F> | undefined | (Account<F> | undefined)[]> {
    const addresses = (isMany(given) ? given : [given]).map((address) => dataOf(address, 'an address', ADDRESS_BYTES))
    const accounts = await this.inParts(addresses, async (part, block) =>
      this.unpack(readBytes(this.core, 'read', { what: 'accounts', of: { block, addresses: part } }), (packed) => {
        const exists = packed.flag()
        const account = { nonce: packed.u64(), balance: packed.word(), codeHash: packed.hash() }
        return exists ? account : undefined
      }),
    )
    return isMany(given) ? accounts : accounts[0]
  }

  /** The value of a slot; zero where none is set. */
  storage(address: AnyData, slot: AnyQuantity): Promise<bigint>
  /** The values of slots, in their order. */
  storage(address: AnyData, slots: readonly AnyQuantity[]): Promise<bigint[]>
  async storage(address: AnyData, given: AnyQuantity | readonly AnyQuantity[]): Promise<bigint | bigint[]> {
    const account = dataOf(address, 'an address', ADDRESS_BYTES)
    const slots = (isMany(given) ? given : [given]).map((slot) => quantityOf(slot, 'a slot'))
    const values = await this.inParts(slots, (part, block) =>
      this.unpack(readBytes(this.core, 'read', { what: 'slots', of: { block, address: account, slots: part } }), (packed) => packed.word()),
    )
    return isMany(given) ? values : (values[0] as bigint)
  }

  /** Code by its hash (32 bytes), or that of an account (20 bytes). */
  async code(of: AnyData): Promise<Data<F>> {
    const key = dataOf(of, 'code')
    const hash = key.length === 2 + 2 * ADDRESS_BYTES ? await this.codeHash(key) : dataOf(key, 'code', WORD_BYTES)
    const read = async (): Promise<Data<F>> => {
      const bytes =
        hash === undefined ? new Uint8Array() : await withTypedErrors(readBytes(this.core, 'read', { what: 'code', of: { hash } }))
      return new Packed(bytes, this.form).data(bytes.length)
    }
    return await within(this.abort, read)
  }

  private async codeHash(address: AnyData): Promise<string | undefined> {
    // A look-up of the block that has begun would fail without a handler.
    checkSignal(this.abort)
    const account = await new State(this.core, this.place, { ...this.abort, form: 'hex' }).at(this.block()).account(address)
    return account?.codeHash
  }

  /** The same state in another form. */
  private at(found: Promise<BlockId>): this {
    this.found = found
    return this
  }

  /** Reads many keys in parts. */
  private async inParts<K, T>(keys: readonly K[], ask: (part: readonly K[], block: { blockHash: string }) => Promise<T[]>): Promise<T[]> {
    return await within(this.abort, async () => {
      const { hash } = await this.block()
      const all: T[] = []
      for (let from = 0; from < keys.length; from += KEYS_AT_ONCE) {
        for (const item of await ask(keys.slice(from, from + KEYS_AT_ONCE), { blockHash: hash })) all.push(item)
      }
      return all
    })
  }

  private async unpack<T>(bytes: Promise<Uint8Array>, read: (packed: Packed<F>) => T): Promise<T[]> {
    const packed = new Packed(await withTypedErrors(bytes), this.form)
    const items: T[] = []
    while (!packed.isOver()) items.push(read(packed))
    return items
  }
}
