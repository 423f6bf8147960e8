// Words as numbers of the big-integer library, against the library's own reading of their text.
import bigInt from 'big-integer'
import { describe, expect, it } from 'vitest'
import { bigOfWord } from '../../ts/tracer/inside/big.ts'

;(globalThis as { LIBRARY?: unknown }).LIBRARY = bigInt

/** A word in eight pieces, as a chunk has it. */
function wordOf(value: bigint): Int32Array {
  const bytes = Uint8Array.from(value.toString(16).padStart(64, '0').match(/../g) as string[], (pair) => Number.parseInt(pair, 16))
  return new Int32Array(bytes.buffer)
}

function expectSame(value: bigint): void {
  const [ours, theirs] = [bigOfWord(wordOf(value), 0), bigInt(value.toString())]
  // The digits, the sign and whether it is small, as scripts may see them.
  expect({ ...ours }).toEqual({ ...theirs })
  expect([ours.toString(), Object.getPrototypeOf(ours)]).toEqual([value.toString(), Object.getPrototypeOf(theirs)])
}

describe('a word as a number', () => {
  it('at the borders of pieces, digits and small numbers', () => {
    const borders = [0n, 1n, 10n ** 7n, 2n ** 53n, 2n ** 53n - 1n, 2n ** 64n, 2n ** 160n - 1n, 2n ** 255n, 2n ** 256n - 1n]
    for (let bit = 53n; bit < 256n; bit++) borders.push(1n << bit, (1n << bit) - 1n)
    for (let digits = 16n; digits < 78n; digits++) borders.push(10n ** digits, 10n ** digits - 1n)
    borders.forEach(expectSame)
  })

  it('of any length', () => {
    let seed = 1n
    for (let i = 0; i < 2000; i++) {
      seed = (seed * 6364136223846793005n + 1442695040888963407n) % 2n ** 64n
      const wide = (seed << 192n) ^ ((seed * seed) << 64n) ^ (seed >> 3n)
      const value = BigInt.asUintN(256, wide) >> BigInt(i % 203)
      expectSame(value)
    }
  })
})
