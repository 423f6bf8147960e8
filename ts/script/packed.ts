// Reads values that the core packed one after the other: numbers little-endian, words big-endian,
// lengths as 32 bits.
import type { Data, Form } from './values.ts'

/** How a form gives a part of packed bytes. */
export type Cut<F extends Form> = (bytes: Buffer, from: number, to: number) => Data<F>

const CUTS: { readonly [F in Form]: Cut<F> } = {
  // The bytes stay where they are: a view of the batch that came from the core.
  bytes: (bytes, from, to) => bytes.subarray(from, to),
  hex: (bytes, from, to) => `0x${bytes.toString('hex', from, to)}`,
}

/** The cut of a form. */
export const cutOf = <F extends Form>(form: F): Cut<F> => CUTS[form] as Cut<F>

const WORD_BYTES = 32
const HIGH_BYTES = 24

/** Packed bytes, read from the front. */
export class Packed<F extends Form> {
  private readonly bytes: Buffer
  private readonly cut: Cut<F>
  private at = 0

  constructor(bytes: Uint8Array, form: F) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.cut = cutOf(form)
  }

  isOver(): boolean {
    return this.at >= this.bytes.length
  }

  byte(): number {
    return this.bytes[this.at++] as number
  }

  flag(): boolean {
    return this.byte() === 1
  }

  u32(): number {
    this.at += 4
    return this.bytes.readUInt32LE(this.at - 4)
  }

  u64(): bigint {
    this.at += 8
    return this.bytes.readBigUInt64LE(this.at - 8)
  }

  /** 256 bits. */
  word(): bigint {
    const from = this.at
    this.at += WORD_BYTES
    // Most are small.
    for (let i = from; i < from + HIGH_BYTES; i++)
      if (this.bytes[i] !== 0) return BigInt(`0x${this.bytes.toString('hex', from, from + WORD_BYTES)}`)
    return this.bytes.readBigUInt64BE(from + HIGH_BYTES)
  }

  /** Bytes of a known length. */
  data(length: number): Data<F> {
    this.at += length
    return this.cut(this.bytes, this.at - length, this.at)
  }

  hash(): Data<F> {
    return this.data(WORD_BYTES)
  }

  address(): Data<F> {
    return this.data(20)
  }

  /** Bytes with their length. */
  sized(): Data<F> {
    return this.data(this.u32())
  }

  optional<T>(read: () => T): T | undefined {
    return this.flag() ? read() : undefined
  }

  list<T>(read: () => T): T[] {
    const length = this.u32()
    const items: T[] = []
    for (let i = 0; i < length; i++) items.push(read())
    return items
  }
}
