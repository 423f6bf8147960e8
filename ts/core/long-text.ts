// Long hexadecimal arguments of a request: ranges of the bytes in which they came, until the core
// has them. A string would be in memory again as JSON for the core, and as the core's copy.
import { randomUUID } from 'node:crypto'
import { free } from './free.ts'

let made: string | undefined

/**
 * Stands for a long text in JSON. Random: no client can write it. It is made for the first one:
 * Node takes milliseconds to load its cryptography, which few starts need.
 */
export function longTextMark(): string {
  made ??= `long-text-${randomUUID()}-`
  return made
}

/** Bytes that hold long texts. The bytes are freed once no text is left in them. */
class Holder {
  readonly bytes: Buffer
  private texts: number

  constructor(bytes: Buffer, texts: number) {
    this.bytes = bytes
    this.texts = texts
  }

  leave(): void {
    if (--this.texts === 0) free(this.bytes)
  }
}

/** Where a text is within bytes. */
export interface TextRange {
  readonly from: number
  readonly to: number
}

/** Long texts in the JSON that `coreJson` is writing; undefined outside of `coreJson`. */
let written: LongText[] | undefined

/** `written` until the first long text: short requests allocate no array. */
const NONE_WRITTEN: LongText[] = []

/** A long text of ASCII without escapes: within JSON for the core no copy but that of the JSON. */
export class LongText {
  private holder: Holder
  private from: number
  private readonly length: number
  /** Whether the codec of its parameter passes it on as it is. */
  isAccepted = false

  private constructor(holder: Holder, { from, to }: TextRange) {
    this.holder = holder
    this.from = from
    this.length = to - from
  }

  /** The texts in these ranges. The caller must not use the bytes afterwards. */
  static within(bytes: Buffer, ranges: readonly TextRange[]): LongText[] {
    const holder = new Holder(bytes, ranges.length)
    return ranges.map((range) => new LongText(holder, range))
  }

  /** Its characters, in a copy. */
  toString(): string {
    return this.holder.bytes.toString('latin1', this.from, this.from + this.length)
  }

  /** The same for JSON. In JSON for the core a mark, in whose place the text is copied. */
  toJSON(): string {
    if (written === undefined) return this.toString()
    if (written === NONE_WRITTEN) written = []
    written.push(this)
    return longTextMark()
  }

  /** Its characters in a copy; the text itself is dropped. */
  take(): string {
    const text = this.toString()
    this.drop()
    return text
  }

  /** Releases its part of the bytes. */
  drop(): void {
    this.holder.leave()
  }

  /** JSON as bytes, with the texts moved to the places of their marks. */
  static inPlace(json: string, texts: readonly LongText[]): Buffer {
    const mark = longTextMark()
    const parts = json.split(mark)
    if (parts.length !== texts.length + 1) throw new Error(`${texts.length} long texts have ${parts.length - 1} places`)
    const around = Buffer.byteLength(json) - texts.length * mark.length
    const bytes = Buffer.allocUnsafeSlow(texts.reduce((sum, { length }) => sum + length, around))
    const holder = new Holder(bytes, texts.length)
    let at = 0
    for (const [i, part] of parts.entries()) {
      at += bytes.write(part, at, 'utf8')
      at += texts[i]?.moveTo(holder, at) ?? 0
    }
    return bytes
  }

  /** Copies it to other bytes, where it is from now on; its length. */
  private moveTo(holder: Holder, at: number): number {
    const { length } = this
    this.holder.bytes.copy(holder.bytes, at, this.from, this.from + length)
    this.holder.leave()
    this.holder = holder
    this.from = at
    return length
  }
}

/** JSON for the core: text, or bytes where it has long texts. */
export type CoreJson = string | Buffer

/** A request as JSON for the core. */
export function coreJson(request: object): CoreJson {
  written = NONE_WRITTEN
  try {
    const json = JSON.stringify(request)
    return written === NONE_WRITTEN ? json : LongText.inPlace(json, written)
  } finally {
    written = undefined
  }
}
