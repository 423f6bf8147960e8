// A small contract in machine code, assembled by hand: set(uint256) rejects zero and logs, get()
// reads.
import { type Hex, parseAbi, toEventSelector, toFunctionSelector } from 'viem'

export const ABI = parseAbi(['function set(uint256 value)', 'function get() view returns (uint256)', 'event Set(uint256 value)'])

/** What set(0) reverts with. */
export const REASON = 'zero is refused'

/**
 * Assembles pieces of hex; `@name` is the two bytes of a label, `name:` a label with its JUMPDEST.
 */
export function assemble(pieces: readonly string[]): string {
  const size = (piece: string): number => (piece.endsWith(':') ? 1 : piece.startsWith('@') ? 2 : piece.length / 2)
  const places = new Map<string, number>()
  let at = 0
  for (const piece of pieces) {
    if (piece.endsWith(':')) places.set(piece.slice(0, -1), at)
    at += size(piece)
  }
  const place = (name: string): string => (places.get(name) as number).toString(16).padStart(4, '0')
  return pieces.map((piece) => (piece.endsWith(':') ? '5b' : piece.startsWith('@') ? place(piece.slice(1)) : piece)).join('')
}

const push4 = (selector: Hex): string => `63${selector.slice(2)}`
const word = (text: string): string => Buffer.from(text).toString('hex').padEnd(64, '0')

const RUNTIME = assemble([
  '600035', // PUSH1 0, CALLDATALOAD
  '60e01c', // PUSH1 224, SHR: the selector
  '80', // DUP1
  push4(toFunctionSelector('get()')),
  '1461', // EQ, PUSH2
  '@get',
  '57', // JUMPI
  push4(toFunctionSelector('set(uint256)')),
  '1461', // EQ, PUSH2
  '@set',
  '57', // JUMPI
  '60006000fd', // REVERT without data
  'get:',
  '600054', // PUSH1 0, SLOAD
  '600052', // PUSH1 0, MSTORE
  '60206000f3', // RETURN the word
  'set:',
  '600435', // PUSH1 4, CALLDATALOAD: the value
  '801561', // DUP1, ISZERO, PUSH2
  '@zero',
  '57', // JUMPI
  '80600055', // DUP1, PUSH1 0, SSTORE
  '600052', // PUSH1 0, MSTORE
  `7f${toEventSelector('Set(uint256)').slice(2)}`, // PUSH32: the topic
  '60206000a1', // LOG1 over the word
  '00', // STOP
  'zero:',
  `7f08c379a0${'00'.repeat(28)}600052`, // the selector of Error(string) at 0
  '6020600452', // offset of the text at 4
  `60${REASON.length.toString(16).padStart(2, '0')}602452`, // its length at 36
  `7f${word(REASON)}604452`, // the text at 68
  '60646000fd', // REVERT with 100 bytes
])

/**
 * Code that deploys a contract: PUSH2 size, DUP1, PUSH1 12, PUSH1 0, CODECOPY, PUSH1 0, RETURN,
 * then its code.
 */
export const deploying = (runtime: string): Hex => `0x61${(runtime.length / 2).toString(16).padStart(4, '0')}80600c6000396000f3${runtime}`

/** Code that deploys the contract. */
export const DEPLOY: Hex = deploying(RUNTIME)
