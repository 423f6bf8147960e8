// The `log` of a script: one object, shown again at every step, over the columns of the chunk.
import { bigOfWord } from './big.ts'
import { copyOf, WORD_BYTES } from './bytes.ts'
import { type Columns, NO_COLUMNS } from './chunk.ts'
import { FIELD } from './fields.ts'
import { type Frame, PIECES, readMemory, reserveStack, stackArena, stackRoom } from './frames.ts'
import { interrupt, need } from './interrupt.ts'
import { decimal, toInt64 } from './numbers.ts'
import { nameOf, PUSH0, PUSH32 } from './opcodes.ts'
import { Bytes, Fault, Int32s, setAll } from './primordials.ts'

/** Most zeros that a slice of memory may need behind the memory's end, in bytes. */
const PADDING_LIMIT = 1024 * 1024

let columns: Columns = NO_COLUMNS
let op: Uint8Array | undefined
let pc: Uint32Array | undefined
let gas: Float64Array | undefined
let cost: Float64Array | undefined
let depth: Uint16Array | undefined
let refund: Float64Array | undefined
let memoryLengths: Uint32Array | undefined

/** The step that is shown, as its place in the columns; -1 before the first. */
let shown = -1
/** Whether any step was shown in this transaction: before it, everything reads as zero. */
let anyShown = false
/** The frame of the step that is shown. */
let frame: Frame | undefined
/** Steps of the chunk whose stack changes are applied, and the words that they used. */
let stacked = 0
let wordsUsed = 0
/** What getError gives, and at which step. */
let errorText: string | undefined
let errorAt = -1

/** Fields that the run records; without `step` no step is ever shown. */
let recorded = 0
export function setRecorded(fields: number): void {
  recorded = fields
}

/** Times that what was shown was replaced by the same with more fields. */
let turn = 0

/**
 * A field that a step does not have: zero where no step was shown, else it is got, and read
 * `again`.
 */
const absent = (field: number, again: () => number): number => ((anyShown || (recorded & FIELD.step) !== 0) && need(field) ? again() : 0)

/** Forgets every step. */
export function forgetSteps(): void {
  running = frame = undefined
  columns = NO_COLUMNS
  op = pc = gas = cost = depth = refund = memoryLengths = undefined
  shown = errorAt = -1
  anyShown = false
  stacked = wordsUsed = 0
  errorText = undefined
}

/** Shows the steps up to `to` without a call, in place of those that are shown. */
export function passSteps(to: number): void {
  frame = running
  anyShown = true
  shown = to - 1
  turn++
}

/** Place of the step that is shown in its columns. */
export const shownStep = (): number => shown

/** Goes over to the columns of another chunk. */
export function showColumns(next: Columns): void {
  applyStacks(columns.steps)
  columns = next
  op = next.op
  pc = next.pc
  gas = next.gas
  cost = next.cost
  depth = next.depth
  refund = next.refund
  memoryLengths = next.memoryLength
  stacked = 0
  wordsUsed = 0
  errorAt = -1
}

/** The frame that runs; its steps are shown next. */
export let running: Frame | undefined

/** Brings the stack of the frame that runs up to date, before a callee's lies behind it. */
export const settleStack = (): void => applyStacks(shown + 1)

/** Says whose steps come now. What the step before them showed stays in sight until then. */
export function runFrame(next: Frame | undefined): void {
  running = next
}

/**
 * Calls `step` for the steps from `from` to `to` of the columns, or until something else is shown
 * in their place.
 */
export function showSteps(from: number, to: number, step: (log: object, db: object) => unknown, db: object): void {
  frame = running
  anyShown = true
  const before = turn
  for (let i = from; i < to; i++) {
    shown = i
    step(LOG, db)
    if (turn !== before) return
  }
}

/** Sets what getError gives: at the step of that place, or at the one shown. */
export function setError(text: string, at: number = shown): void {
  errorText = text
  errorAt = at
}

/** Applies the stack changes of the steps below `end` to the frame that runs. */
function applyStacks(end: number): void {
  const { keep, pushed, words } = columns
  if (keep === undefined || pushed === undefined || words === undefined || running === undefined) {
    stacked = end
    return
  }
  const base = running.stackBase
  let length = running.stackLength
  let from = wordsUsed
  let arena = stackArena
  for (let i = stacked; i < end; i++) {
    const kept = keep[i] as number
    const count = pushed[i] as number
    length = kept + count
    if (base + length > stackRoom) {
      reserveStack(base + length)
      arena = stackArena
    }
    let to = (base + kept) * PIECES
    const until = from + count * PIECES
    while (from < until) arena[to++] = words[from++] as number
  }
  running.stackLength = length
  wordsUsed = from
  if (end > stacked) stacked = end
}

function opcode(): number {
  return op === undefined ? absent(FIELD.op, opcode) : (op[shown] as number)
}

function stackLength(): number {
  if (columns.keep === undefined) return absent(FIELD.stack, stackLength)
  if (stacked <= shown) applyStacks(shown + 1)
  return frame === undefined ? 0 : frame.stackLength
}

function memoryLength(): number {
  return memoryLengths === undefined ? absent(FIELD.memoryLength, memoryLength) : (memoryLengths[shown] as number)
}

/** The frame, where its contract was recorded. */
function contract(): Frame {
  if ((recorded & FIELD.contract) === 0 && (recorded & FIELD.step) !== 0) need(FIELD.contract)
  if (frame === undefined) throw new Fault('no step was shown')
  return frame
}

/** The object itself. */
export const LOG = {
  getPC: (): number => (pc === undefined ? absent(FIELD.pc, LOG.getPC) : (pc[shown] as number)),
  getGas: (): number => (gas === undefined ? absent(FIELD.gas, LOG.getGas) : (gas[shown] as number)),
  getCost: (): number => (cost === undefined ? absent(FIELD.cost, LOG.getCost) : (cost[shown] as number)),
  getDepth: (): number => (depth === undefined ? absent(FIELD.depth, LOG.getDepth) : (depth[shown] as number)),
  getRefund: (): number => (refund === undefined ? absent(FIELD.refund, LOG.getRefund) : (refund[shown] as number)),
  getError: (): string | undefined => (errorAt === shown ? errorText : undefined),
  op: {
    toNumber: opcode,
    toString: (): string => nameOf(opcode()),
    isPush: (): boolean => {
      const number = opcode()
      return number >= PUSH0 && number <= PUSH32
    },
  },
  stack: {
    peek: (index: unknown): object => {
      const back = toInt64(index)
      const length = stackLength()
      if (back < 0 || back >= length) interrupt(`tracer accessed out of bound stack: size ${length}, index ${decimal(back)}`)
      return bigOfWord(stackArena, ((frame as Frame).stackBase + length - 1 - back) * PIECES)
    },
    length: stackLength,
  },
  memory: {
    slice: (begin: unknown, end: unknown): Uint8Array => {
      const from = toInt64(begin)
      const to = toInt64(end)
      if (to !== from) {
        if (to < from || from < 0) interrupt(`tracer accessed out of bound memory: offset ${decimal(from)}, end ${decimal(to)}`)
        const beyond = to - memoryLength()
        if (beyond > PADDING_LIMIT) interrupt(`reached limit for padding memory slice: ${decimal(beyond)}`)
      }
      return memoryPart(from, to)
    },
    getUint: (offset: unknown): object => {
      const from = toInt64(offset)
      const length = memoryLength()
      if (from < 0 || from + WORD_BYTES > length) {
        interrupt(`tracer accessed out of bound memory: available ${length}, offset ${decimal(from)}, size ${WORD_BYTES}`)
      }
      const words = new Int32s(PIECES)
      setAll(new Bytes(words.buffer), memoryPart(from, from + WORD_BYTES))
      return bigOfWord(words, 0)
    },
    length: memoryLength,
  },
  contract: {
    getCaller: (): Uint8Array => copyOf(contract().caller),
    getAddress: (): Uint8Array => copyOf(contract().address),
    getValue: (): object => bigOfWord(contract().value, 0),
    getInput: (): Uint8Array => copyOf(contract().input ?? missingInput()),
  },
}

/** Once it was got, all the frames are others that have it. */
const missingInput = (): Uint8Array => (need(FIELD.input) ? contract().input : undefined) ?? new Bytes(0)

const zero = (): number => 0

function memoryPart(from: number, to: number): Uint8Array {
  if (to === from) return new Bytes(0)
  if ((recorded & FIELD.memory) === 0) absent(FIELD.memory, zero)
  return frame === undefined ? new Bytes(to - from) : readMemory(frame, from, to)
}
