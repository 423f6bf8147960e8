// console.log of Hardhat's library: a call to an address that has no code, with what is to be
// printed as its arguments.
import { type AbiType, bytesOf, decodeArguments } from './abi.ts'
import { CONSOLE_SIGNATURES } from './console-signatures.ts'

/** Where the library calls to: the text "console.log" at the end of an address. */
export const CONSOLE_ADDRESS = '0x000000000000000000636f6e736f6c652e6c6f67'

/** The digits by which code that calls it is known. */
export const CONSOLE_DIGITS = CONSOLE_ADDRESS.slice(20)

/** Types by the letters of the table. */
const TYPES: Readonly<Record<string, AbiType>> = { u: 'uint256', i: 'int256', s: 'string', b: 'bool', a: 'address', y: 'bytes' }

let table: ReadonlyMap<string, readonly AbiType[]> | undefined

/** Argument types by selector. */
function signatures(): ReadonlyMap<string, readonly AbiType[]> {
  table ??= new Map(
    CONSOLE_SIGNATURES.trim()
      .split(/\s+/)
      .map((entry) => {
        const [selector = '', types = ''] = entry.split(':')
        const list = /^\d+$/.test(types) ? [`bytes${Number(types)}` as const] : [...types].map((letter) => TYPES[letter] as AbiType)
        return [`0x${selector}`, list]
      }),
  )
  return table
}

/** The output of a call; undefined if it is no call of console.log, or an unknown variant. */
export function consoleLine(to: string | undefined, input: string): string | undefined {
  if (to?.toLowerCase() !== CONSOLE_ADDRESS) return undefined
  const types = signatures().get(input.slice(0, 10))
  if (types === undefined) return undefined
  const values = decodeArguments(types, bytesOf(`0x${input.slice(10)}`))
  return values === undefined ? undefined : formatted(values, types)
}

/**
 * The values as a line: a text that comes first may have places for the others, as of console.log
 * in Node.
 */
function formatted(values: readonly string[], types: readonly AbiType[]): string {
  const [first = '', ...rest] = values
  if (types[0] !== 'string') return values.join(' ')
  const filled = first.replace(/%[sdioO%]/g, (place) => {
    if (place === '%%') return '%'
    return rest.shift() ?? place
  })
  return [filled, ...rest].join(' ')
}
