// State as of the step that is shown: what the transaction changed so far over what stood before
// it.
import { ADDRESS_BYTES, copyOf, WORD_BYTES } from './bytes.ts'
import { interrupt, stop } from './interrupt.ts'
import { Keys } from './keys.ts'
import { Bytes, float64At, Int32s, uint32At, View } from './primordials.ts'
import { hexOf } from './text.ts'

/** The items that can be read from the parent; the numbers are those of the channel. */
const READ = { account: 0, slot: 1, code: 2 } as const

/**
 * Reads the state before the transaction: an ArrayBuffer, a text if the read failed, undefined if
 * the run was stopped.
 */
export type ReadState = (what: number, address: string, key: string) => ArrayBuffer | string | undefined

/** An account at one moment; never changed once made. */
export interface Account {
  readonly exists: boolean
  readonly nonce: number
  /** 32 bytes, big-endian. */
  readonly balance: Int32Array
  readonly hasCode: boolean
}

interface Slot {
  readonly value: Uint8Array
  /** Wipes of the account's storage when it was written; an older value is gone. */
  readonly wipes: number
}

const NO_BYTES = new Bytes(0)
const EMPTY_CODE_HASH = 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'

/** State before the transaction, changes so far, and the way back where a frame fails. */
export class State {
  private readonly read: ReadState
  private readonly addresses = new Keys(ADDRESS_BYTES / 4)
  private readonly slots = new Keys(1 + WORD_BYTES / 4)
  private readonly accounts: (Account | undefined)[] = []
  private readonly baseAccounts: (Account | undefined)[] = []
  private readonly codes: (Uint8Array | undefined)[] = []
  private readonly baseCodes: (Uint8Array | undefined)[] = []
  private readonly wipes: (number | undefined)[] = []
  private readonly values: (Slot | undefined)[] = []
  private readonly baseValues: (Uint8Array | undefined)[] = []
  private readonly undo: (() => void)[] = []
  private undos = 0
  private readonly key = new Int32s(1 + WORD_BYTES / 4)
  private readonly keyBytes = new Bytes(this.key.buffer)

  constructor(read: ReadState) {
    this.read = read
  }

  /** Where the changes stand: to be handed to `revert`. */
  mark(): number {
    return this.undos
  }

  /** Takes back every change since the mark. */
  revert(mark: number): void {
    while (this.undos > mark) (this.undo[--this.undos] as () => void)()
  }

  private remember(back: () => void): void {
    this.undo[this.undos++] = back
  }

  private put<T>(list: (T | undefined)[], at: number, value: T): void {
    const before = list[at]
    this.remember(() => {
      list[at] = before
    })
    list[at] = value
  }

  /**
   * Number of the address that ends at the end of `bytes`, as go-ethereum takes addresses from
   * bytes of any length.
   */
  addressOf(bytes: Uint8Array): number {
    const length = bytes.length
    const { key } = this
    if (length === ADDRESS_BYTES) {
      for (let i = 0, at = 0; i < ADDRESS_BYTES / 4; i++, at += 4) {
        const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8)
        key[i] = low | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24)
      }
    } else {
      for (let i = 1; i <= ADDRESS_BYTES; i++) this.keyBytes[ADDRESS_BYTES - i] = i <= length ? (bytes[length - i] as number) : 0
    }
    return this.addresses.number(key)
  }

  private slotOf(address: number, bytes: Uint8Array): number {
    const length = bytes.length
    this.key[0] = address
    for (let i = 1; i <= WORD_BYTES; i++) this.keyBytes[4 + WORD_BYTES - i] = i <= length ? (bytes[length - i] as number) : 0
    return this.slots.number(this.key)
  }

  private keptHex(keys: Keys, number: number, words: number, skip: number): string {
    return hexOf(new Bytes(keys.kept.buffer as ArrayBuffer, (number * words + skip) * 4, (words - skip) * 4), (words - skip) * 4)
  }

  private ask(what: number, address: number, key: string): ArrayBuffer {
    const answer = this.read(what, this.keptHex(this.addresses, address, ADDRESS_BYTES / 4, 0), key)
    if (answer === undefined) stop()
    if (typeof answer === 'string') interrupt(answer)
    return answer
  }

  account(address: number): Account {
    const changed = this.accounts[address] ?? this.baseAccounts[address]
    if (changed !== undefined) return changed
    const bytes = new Bytes(this.ask(READ.account, address, ''))
    const account = accountIn(bytes, 0)
    this.baseAccounts[address] = account
    return account
  }

  code(address: number): Uint8Array {
    if (!this.account(address).hasCode) return NO_BYTES
    const known = this.codes[address] ?? this.baseCodes[address]
    if (known !== undefined) return known
    const code = new Bytes(this.ask(READ.code, address, ''))
    this.baseCodes[address] = code
    return code
  }

  slot(address: number, key: Uint8Array): Uint8Array {
    const slot = this.slotOf(address, key)
    const wipes = this.wipes[address] ?? 0
    const changed = this.values[slot]
    if (changed !== undefined && changed.wipes === wipes) return changed.value
    if (wipes > 0) return new Bytes(WORD_BYTES)
    const known = this.baseValues[slot]
    if (known !== undefined) return known
    const value = new Bytes(this.ask(READ.slot, address, this.keptHex(this.slots, slot, 1 + WORD_BYTES / 4, 1)))
    this.baseValues[slot] = value
    return value
  }

  /** The account as it is from here on. `bytes`: address, then as `accountIn` reads it. */
  accountChanged(bytes: Uint8Array): void {
    this.put(this.accounts, this.addressOf(new Bytes(bytes.buffer, bytes.byteOffset, ADDRESS_BYTES)), accountIn(bytes, ADDRESS_BYTES))
  }

  /** `bytes`: address, key, value. */
  slotChanged(bytes: Uint8Array): void {
    const part = (from: number, length: number) => new Bytes(bytes.buffer, bytes.byteOffset + from, length)
    const address = this.addressOf(part(0, ADDRESS_BYTES))
    const slot = this.slotOf(address, part(ADDRESS_BYTES, WORD_BYTES))
    this.put(this.values, slot, {
      value: copyOf(part(ADDRESS_BYTES + WORD_BYTES, WORD_BYTES)),
      wipes: this.wipes[address] ?? 0,
    })
  }

  /** `bytes`: address, code. */
  codeChanged(bytes: Uint8Array): void {
    const address = this.addressOf(new Bytes(bytes.buffer, bytes.byteOffset, ADDRESS_BYTES))
    const length = bytes.length - ADDRESS_BYTES
    this.put(this.codes, address, copyOf(new Bytes(bytes.buffer, bytes.byteOffset + ADDRESS_BYTES, length)))
  }

  storageWiped(bytes: Uint8Array): void {
    const address = this.addressOf(new Bytes(bytes.buffer, bytes.byteOffset, ADDRESS_BYTES))
    this.put(this.wipes, address, (this.wipes[address] ?? 0) + 1)
  }
}

/**
 * Reads u8 exists, 3 (in an event) or 7 (in an answer) bytes of padding, f64 nonce, balance, code
 * hash.
 */
function accountIn(bytes: Uint8Array, at: number): Account {
  const view = new View(bytes.buffer, bytes.byteOffset)
  const padded = at === 0 ? 8 : 4
  const balance = new Int32s(WORD_BYTES / 4)
  for (let i = 0; i < WORD_BYTES / 4; i++) balance[i] = uint32At(view, at + padded + 8 + 4 * i, true)
  const hash = hexOf(new Bytes(bytes.buffer, bytes.byteOffset + at + padded + 8 + WORD_BYTES, WORD_BYTES), WORD_BYTES)
  return {
    exists: bytes[at] === 1,
    nonce: float64At(view, at + padded, true),
    balance,
    hasCode: hash !== EMPTY_CODE_HASH && hash !== '0'.repeat(2 * WORD_BYTES),
  }
}
