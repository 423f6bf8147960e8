// A chunk of recorded steps: where its columns and events lie.
import { FIELD } from './fields.ts'
import { Bytes, Doubles, Int32s, Uint16s, Uint32s, uint32At, View } from './primordials.ts'

const CHUNK_HEADER_BYTES = 32
const ALIGNMENT = 8

/** Columns of a chunk; those of fields that were not recorded are absent. */
export interface Columns {
  readonly steps: number
  readonly op: Uint8Array | undefined
  readonly pc: Uint32Array | undefined
  readonly gas: Float64Array | undefined
  readonly cost: Float64Array | undefined
  readonly depth: Uint16Array | undefined
  readonly refund: Float64Array | undefined
  /** Words of the stack of the step before that are still there. */
  readonly keep: Uint16Array | undefined
  /** New words on top of them. */
  readonly pushed: Uint8Array | undefined
  /** The new words of all steps, eight 32-bit pieces each, bytes in big-endian order. */
  readonly words: Int32Array | undefined
  readonly memoryLength: Uint32Array | undefined
}

/** A decoded chunk. */
export interface Chunk {
  readonly columns: Columns
  readonly events: number
  /** Where the first event begins in `view` and `bytes`. */
  readonly eventsAt: number
  readonly view: DataView
  readonly bytes: Uint8Array
}

/** Columns before the first chunk: nothing was recorded. */
export const NO_COLUMNS: Columns = columnsOf(0, 0, 0, () => 0 as never)

type Take = <T>(make: new (buffer: ArrayBuffer, at: number, length: number) => T, length: number, bytesEach: number) => T

function columnsOf(steps: number, words: number, fields: number, take: Take): Columns {
  const has = (field: number) => (fields & field) !== 0
  const maybe = <T>(field: number, make: new (b: ArrayBuffer, at: number, n: number) => T, each: number): T | undefined =>
    has(field) ? take(make, steps, each) : undefined
  // The order is that of the channel.
  const op = maybe(FIELD.op, Bytes, 1)
  const pc = maybe(FIELD.pc, Uint32s, 4)
  const gas = maybe(FIELD.gas, Doubles, 8)
  const cost = maybe(FIELD.cost, Doubles, 8)
  const depth = maybe(FIELD.depth, Uint16s, 2)
  const refund = maybe(FIELD.refund, Doubles, 8)
  const keep = maybe(FIELD.stack, Uint16s, 2)
  const pushed = maybe(FIELD.stack, Bytes, 1)
  const stack = has(FIELD.stack) ? take(Int32s, words * 8, 4) : undefined
  const memoryLength = maybe(FIELD.memory | FIELD.memoryLength, Uint32s, 4)
  return { steps, op, pc, gas, cost, depth, refund, keep, pushed, words: stack, memoryLength }
}

const aligned = (at: number): number => (at + ALIGNMENT - 1) & -ALIGNMENT

/** Decodes a chunk; its columns are views of the buffer. */
export function chunkOf(buffer: ArrayBuffer): Chunk {
  const view = new View(buffer)
  const steps = uint32At(view, 0, true)
  const fields = uint32At(view, 12, true)
  let at = CHUNK_HEADER_BYTES
  const take: Take = (Make, length, bytesEach) => {
    const from = aligned(at)
    at = from + length * bytesEach
    return new Make(buffer, from, length)
  }
  const columns = columnsOf(steps, uint32At(view, 8, true), (fields & FIELD.step) === 0 ? 0 : fields, take)
  return { columns, events: uint32At(view, 4, true), eventsAt: aligned(at), view, bytes: new Bytes(buffer) }
}
