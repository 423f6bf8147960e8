// 256-bit words as numbers of the big-integer library, made without a detour over text.
import { evaluate, floor, getPrototypeOf, indexOf } from './primordials.ts'

/** The library's base. Its digits are the least significant first. */
const BASE = 1e7
/**
 * Bits of the pieces that a word is divided in: a remainder below BASE and a piece fit into a
 * double together.
 */
const PIECE_BITS = 28
const PIECE = 2 ** PIECE_BITS
const PIECE_MASK = PIECE - 1
const DIVIDED = 10
/** High halves below this belong to numbers below 2^53, which the library keeps as doubles. */
const EXACT_HIGH = 2 ** 21

interface Num {
  value: number | number[]
  sign: boolean
  isSmall: boolean
}

export type Library = (value: string | number) => object
type Constructor<V> = new (value: V) => object

/**
 * The library, or its text where it must be loaded in this realm; what bundles the inside puts it
 * there.
 */
declare const LIBRARY: string | Library

let library: Library | undefined
let NewSmall: Constructor<number>
let NewLarge: Constructor<number[]>

/** Evaluates the library in the global scope, where scripts find it. */
function evaluated(text: string): Library {
  delete (globalThis as { bigInt?: unknown }).bigInt
  return evaluate(`${text};bigInt`) as Library
}

/**
 * The library. It costs more to load than all the rest of a context, and many scripts need no big
 * numbers, so it is loaded when it is looked at.
 */
export function bigIntLibrary(): Library {
  if (library !== undefined) return library
  const loaded = typeof LIBRARY === 'string' ? evaluated(LIBRARY) : LIBRARY
  // Constructors with the library's own prototypes: what they make is an instance of its classes.
  function Small(this: Num, value: number): void {
    this.value = value
    this.sign = false
    this.isSmall = true
  }
  Small.prototype = getPrototypeOf(loaded(1))
  function Large(this: Num, value: number[]): void {
    this.value = value
    this.sign = false
    this.isSmall = false
  }
  Large.prototype = getPrototypeOf(loaded('100000000000000000000'))
  NewSmall = Small as unknown as Constructor<number>
  NewLarge = Large as unknown as Constructor<number[]>
  library = loaded
  return loaded
}

/**
 * Puts the library into the global scope: as a value where the script names it, else so that it is
 * loaded when it is looked at.
 */
export function offerLibrary(source: string): void {
  if (indexOf(source, 'bigInt') >= 0) bigIntLibrary()
}

/** A number from its decimal digits. */
export const bigOfDecimal = (text: string): object => bigIntLibrary()(text)

const swap = (x: number): number => (x << 24) | ((x & 0xff00) << 8) | ((x >>> 8) & 0xff00) | (x >>> 24)

/**
 * The number in eight 32-bit pieces of `words` from `at`, each with its bytes in big-endian order,
 * the most significant first.
 */
export function bigOfWord(words: Int32Array, at: number): object {
  if (library === undefined) bigIntLibrary()
  const high = swap(words[at + 6] as number) >>> 0
  if (
    high < EXACT_HIGH &&
    ((words[at] as number) | (words[at + 1] as number) | (words[at + 2] as number)) === 0 &&
    ((words[at + 3] as number) | (words[at + 4] as number) | (words[at + 5] as number)) === 0
  ) {
    return new NewSmall(high * 0x1_0000_0000 + (swap(words[at + 7] as number) >>> 0))
  }
  divide(words, at)
  return new NewLarge(digits())
}

/** The pieces of a word, the most significant first; used up by `digits`. */
const rest = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]

/** Divides a word into `rest`. */
function divide(words: Int32Array, at: number): void {
  const a = swap(words[at + 7] as number)
  const b = swap(words[at + 6] as number)
  const c = swap(words[at + 5] as number)
  const d = swap(words[at + 4] as number)
  const e = swap(words[at + 3] as number)
  const f = swap(words[at + 2] as number)
  const g = swap(words[at + 1] as number)
  const h = swap(words[at] as number)
  rest[9] = a & PIECE_MASK
  rest[8] = ((a >>> 28) | (b << 4)) & PIECE_MASK
  rest[7] = ((b >>> 24) | (c << 8)) & PIECE_MASK
  rest[6] = ((c >>> 20) | (d << 12)) & PIECE_MASK
  rest[5] = ((d >>> 16) | (e << 16)) & PIECE_MASK
  rest[4] = ((e >>> 12) | (f << 20)) & PIECE_MASK
  rest[3] = ((f >>> 8) | (g << 24)) & PIECE_MASK
  rest[2] = g >>> 4
  rest[1] = h & PIECE_MASK
  rest[0] = h >>> 28
}

/** Digits of the library's base of the number in `rest`. */
function digits(): number[] {
  const out: number[] = []
  let first = 0
  let count = 0
  while (first < DIVIDED && rest[first] === 0) first++
  while (first < DIVIDED) {
    let remainder = 0
    for (let i = first; i < DIVIDED; i++) {
      const held = remainder * PIECE + (rest[i] as number)
      const quotient = floor(held / BASE)
      rest[i] = quotient
      remainder = held - quotient * BASE
    }
    out[count++] = remainder
    while (first < DIVIDED && rest[first] === 0) first++
  }
  return out
}
