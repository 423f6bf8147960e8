// From a place in code to a place in a source (Solidity documentation, "Source Mappings"): one
// entry for each instruction, places in bytes.

/** Opcodes that carry bytes behind them. */
const [PUSH1, PUSH32] = [0x60, 0x7f]

/** Jumps of one kind that are listed; debug_traceGasProfile takes as many marks. */
const JUMPS_MAX = 65_536

const isJumpAt = (hex: string, pc: number): boolean => /^5[67]$/.test(hex.slice(2 * pc, 2 * pc + 2))

/** A place in a source. */
export interface MapEntry {
  /** Bytes from the beginning of the source. */
  readonly start: number
  readonly length: number
  /** Number of the source in its build; -1 is code of the compiler. */
  readonly file: number
  /** `i` into a function, `o` out of one, `-` neither. */
  readonly jump: string
}

/** Places by program counter. */
export class SourceMap {
  private readonly entries: readonly MapEntry[]
  /** Number of the instruction at each program counter; -1 within the data of a PUSH. */
  private readonly instructions: Int32Array
  /** 1 at a JUMP or JUMPI. */
  private readonly isJump: Uint8Array

  /** `hex` without a prefix. */
  constructor(map: string, hex: string) {
    this.instructions = instructionsOf(hex)
    this.isJump = Uint8Array.from(this.instructions, (i, pc) => (i >= 0 && isJumpAt(hex, pc) ? 1 : 0))
    this.entries = parse(map, this.instructions.length)
  }

  /** The entry of the instruction at a program counter; undefined past the end of the map. */
  at(pc: number): MapEntry | undefined {
    const i = this.instructions[pc]
    return i === undefined || i < 0 ? undefined : this.entries[i]
  }

  /** Program counters of the jumps of a kind, in order; at most 65,536. */
  jumps(kind: 'i' | 'o'): number[] {
    const found: number[] = []
    for (let pc = 0; pc < this.instructions.length && found.length < JUMPS_MAX; pc++) {
      const i = this.instructions[pc] as number
      if (i >= 0 && this.entries[i]?.jump === kind && this.isJump[pc] === 1) found.push(pc)
    }
    return found
  }

  /** Numbers of the sources that the code is from. */
  files(): number[] {
    return [...new Set(this.entries.map(({ file }) => file))].filter((file) => file >= 0).sort((a, b) => a - b)
  }
}

function instructionsOf(hex: string): Int32Array {
  const bytes = Math.floor(hex.length / 2)
  const numbers = new Int32Array(bytes).fill(-1)
  for (let pc = 0, i = 0; pc < bytes; i++) {
    numbers[pc] = i
    const op = Number.parseInt(hex.slice(2 * pc, 2 * pc + 2), 16)
    pc += op >= PUSH1 && op <= PUSH32 ? op - PUSH1 + 2 : 1
  }
  return numbers
}

/**
 * The entries; a field that is empty is that of the entry before. An entry that does not read ends
 * the map.
 */
function parse(map: string, most: number): MapEntry[] {
  const entries: MapEntry[] = []
  let last: MapEntry = { start: 0, length: 0, file: -1, jump: '-' }
  for (const part of map === '' ? [] : map.split(';', most)) {
    const [start, length, file, jump] = part.split(':')
    const entry = {
      start: start ? Number(start) : last.start,
      length: length ? Number(length) : last.length,
      file: file ? Number(file) : last.file,
      jump: jump || last.jump,
    }
    if (![entry.start, entry.length, entry.file].every(Number.isSafeInteger)) break
    entries.push(entry)
    last = entry
  }
  return entries
}

/** A place in a text as readers count: lines and columns from 1 on, columns in characters. */
export interface Place {
  readonly line: number
  readonly column: number
}

/** Lines of a text, found by bytes of its UTF-8. */
export class Lines {
  readonly texts: readonly string[]
  private readonly starts: number[] = [0]
  private readonly bytes: Uint8Array

  constructor(text: string) {
    this.bytes = new TextEncoder().encode(text)
    for (const [i, byte] of this.bytes.entries()) if (byte === 0x0a) this.starts.push(i + 1)
    this.texts = text.split('\n').map((line) => line.replace(/\r$/, ''))
  }

  /** Bytes of the text. */
  get length(): number {
    return this.bytes.length
  }

  /** The place of a byte; undefined past the end. */
  at(byte: number): Place | undefined {
    if (byte < 0 || byte > this.bytes.length) return undefined
    let [low, high] = [0, this.starts.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.starts[middle] as number) <= byte) low = middle
      else high = middle - 1
    }
    const before = this.bytes.subarray(this.starts[low] as number, byte)
    return { line: low + 1, column: new TextDecoder().decode(before).length + 1 }
  }
}
