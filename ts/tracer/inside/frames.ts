// Frames of the call tree while they run: their stacks, memories and contracts.
import { copyOf } from './bytes.ts'
import { Bytes, fillAll, Int32s, min, setAll } from './primordials.ts'

/** 32-bit pieces of a word. */
export const PIECES = 8
const FIRST_STACK_WORDS = 32
const FIRST_MEMORY_BYTES = 64

/**
 * A frame. The stack and the memory of a callee lie behind those of its caller in one arena each.
 */
export interface Frame {
  readonly outer: Frame | undefined
  readonly stackBase: number
  stackLength: number
  readonly memoryBase: number
  /** Bytes of the memory that were written; the rest of it is zeros. */
  memoryFilled: number
  /** Where the changes of state stood when it began. */
  readonly mark: number
  readonly caller: Uint8Array
  readonly address: Uint8Array
  readonly value: Int32Array
  /** Absent where it was not recorded. */
  readonly input: Uint8Array | undefined
}

/** Words of all stacks, eight 32-bit pieces each. */
export let stackArena = new Int32s(FIRST_STACK_WORDS * PIECES)
/** Words that it has room for. */
export let stackRoom = FIRST_STACK_WORDS
/** Bytes of all memories. */
let memoryArena = new Bytes(FIRST_MEMORY_BYTES)

/** Gives up the memory of all stacks and memories, where no frame runs. */
export function forgetArenas(): void {
  stackArena = new Int32s(FIRST_STACK_WORDS * PIECES)
  stackRoom = FIRST_STACK_WORDS
  memoryArena = new Bytes(FIRST_MEMORY_BYTES)
}

/** Makes room for stack words up to `words`. */
export function reserveStack(words: number): void {
  if (words <= stackRoom) return
  while (stackRoom < words) stackRoom *= 2
  const larger = new Int32s(stackRoom * PIECES)
  setAll(larger, stackArena)
  stackArena = larger
}

/** Writes into the memory of a frame. */
export function writeMemory(frame: Frame, offset: number, bytes: Uint8Array): void {
  const end = offset + bytes.length
  const needed = frame.memoryBase + end
  let room = memoryArena.length
  if (needed > room) {
    while (room < needed) room *= 2
    const larger = new Bytes(room)
    setAll(larger, memoryArena)
    memoryArena = larger
  }
  if (offset > frame.memoryFilled) fillAll(memoryArena, 0, frame.memoryBase + frame.memoryFilled, frame.memoryBase + offset)
  setAll(memoryArena, bytes, frame.memoryBase + offset)
  if (end > frame.memoryFilled) frame.memoryFilled = end
}

/** Bytes of a frame's memory from `begin` to `end`, zeros where nothing was written. */
export function readMemory(frame: Frame, begin: number, end: number): Uint8Array {
  const out = new Bytes(end - begin)
  const to = min(end, frame.memoryFilled)
  if (to > begin) setAll(out, new Bytes(memoryArena.buffer, frame.memoryBase + begin, to - begin))
  return out
}

/** The contract that runs in a frame. */
export interface Contract {
  readonly caller: Uint8Array
  readonly address: Uint8Array
  readonly value: Int32Array
  readonly input: Uint8Array | undefined
}

/** The frame of a call out of `outer`. */
export function innerFrame(outer: Frame | undefined, contract: Contract, mark: number): Frame {
  return {
    outer,
    stackBase: outer === undefined ? 0 : outer.stackBase + outer.stackLength,
    stackLength: 0,
    memoryBase: outer === undefined ? 0 : outer.memoryBase + outer.memoryFilled,
    memoryFilled: 0,
    mark,
    caller: copyOf(contract.caller),
    address: copyOf(contract.address),
    value: contract.value,
    input: contract.input,
  }
}
