// Bytes of a page, put together in one buffer that is used again for the next page.

/** Bytes that a number takes at most: JavaScript writes none longer than 25 characters. */
const NUMBER_BYTES_MAX = 32

/** Room at first, in bytes; it doubles when it is used up. */
const FIRST_ROOM = 64 * 1024

const DIGIT_0 = 0x30

/** A number as both formats write it. */
export function shownNumber(value: number): string {
  if (Number.isFinite(value)) return String(value)
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'
}

/** Takes pieces of a page. */
export class Writer {
  private buffer = new Uint8Array(FIRST_ROOM)
  private at = 0

  /** Bytes so far. */
  get length(): number {
    return this.at
  }

  /** A copy of the bytes that were added since there were `from` of them. */
  since(from: number): Uint8Array {
    return this.buffer.slice(from, this.at)
  }

  /** Adds bytes. */
  bytes(piece: Uint8Array): void {
    this.room(piece.length)
    this.buffer.set(piece, this.at)
    this.at += piece.length
  }

  /**
   * Adds a number in the form of both formats. Most numbers are counts: their digits are written
   * without a string.
   */
  number(value: number): void {
    this.room(NUMBER_BYTES_MAX)
    // `| 0` only holds for whole numbers below 2^31. The only one whose text differs is -0, which
    // is shown as 0 either way.
    if (value >= 0 && (value | 0) === value) this.digits(value)
    else this.ascii(shownNumber(value))
  }

  /**
   * The bytes added since the last call, which belong to the caller; the buffer is empty
   * afterwards.
   */
  take(): Uint8Array<ArrayBuffer> {
    const taken = this.buffer.slice(0, this.at)
    this.at = 0
    return taken
  }

  private digits(value: number): void {
    let end = this.at + 1
    for (let power = 10; power <= value; power *= 10) end++
    this.at = end
    let rest = value
    do {
      const tenth = (rest / 10) | 0
      this.buffer[--end] = DIGIT_0 + rest - tenth * 10
      rest = tenth
    } while (rest > 0)
  }

  private ascii(text: string): void {
    for (let i = 0; i < text.length; i++) this.buffer[this.at++] = text.charCodeAt(i)
  }

  private room(bytes: number): void {
    if (this.at + bytes <= this.buffer.length) return
    const larger = new Uint8Array(Math.max(this.at + bytes, this.buffer.length * 2))
    larger.set(this.buffer.subarray(0, this.at))
    this.buffer = larger
  }
}
