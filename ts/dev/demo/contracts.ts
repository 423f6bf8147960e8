// The contracts of the demo, in assembly: a token, a market that swaps two tokens, and one that
// never ends.
import { assemble } from './assembler.ts'

const utf8 = (text: string): bigint => BigInt(`0x${Buffer.from(text).toString('hex').padEnd(64, '0')}`)

/** Selectors and topics. */
const CONSTANTS = {
  balanceOf: 0x70a08231n,
  transfer: 0xa9059cbbn,
  transferFrom: 0x23b872ddn,
  approve: 0x095ea7b3n,
  swap: 0x94b918den,
  Transfer: 0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3efn,
  /** Selector of Error(string), at the front of a word. */
  Error: 0x08c379a0n << 224n,
  notEnough: utf8('not enough tokens'),
  notAllowed: utf8('not allowed to take so many'),
  /** Selector of console.log(string,uint256), at the front of a word. */
  log: 0xb60e72ccn << 224n,
  console: 0x636f6e736f6c652e6c6f67n,
  swapped: utf8('swapped %d tokens'),
} as const

/** Puts code on the chain, and before that what `prepare` does. */
function creation(prepare: string, runtime: Uint8Array): Uint8Array {
  const text = `${prepare} !runtime DUP1 &runtime 0 CODECOPY 0 RETURN`
  return assemble(text, { constants: CONSTANTS, parts: { runtime } })
}

/**
 * A token of a million units, which its maker has at first. The balance of an account lies in the
 * slot that is its address; what it lets another take lies in the slot that is the hash of both.
 */
const TOKEN_RUNTIME = assemble(
  `
  0 CALLDATALOAD 0xe0 SHR               ; selector
  DUP1 #balanceOf EQ @balanceOf JUMPI
  DUP1 #transfer EQ @transfer JUMPI
  DUP1 #transferFrom EQ @transferFrom JUMPI
  DUP1 #approve EQ @approve JUMPI
  0 0 REVERT

  balanceOf:
  4 CALLDATALOAD SLOAD 0 MSTORE 0x20 0 RETURN

  approve:                              ; (spender, amount)
  CALLER 0 MSTORE 4 CALLDATALOAD 0x20 MSTORE
  0x24 CALLDATALOAD 0x40 0 KECCAK256 SSTORE
  @done JUMP

  transfer:                             ; (to, amount)
  0x24 CALLDATALOAD 4 CALLDATALOAD CALLER
  @move JUMP                            ; amount, to, from

  transferFrom:                         ; (from, to, amount)
  4 CALLDATALOAD 0 MSTORE CALLER 0x20 MSTORE
  0x40 0 KECCAK256                      ; slot of what the caller may take
  DUP1 SLOAD                            ; allowed, slot
  0x44 CALLDATALOAD DUP2 LT @notAllowed JUMPI
  0x44 CALLDATALOAD SWAP1 SUB SWAP1 SSTORE
  0x44 CALLDATALOAD 0x24 CALLDATALOAD 4 CALLDATALOAD
  @move JUMP

  move:                                 ; from, to, amount
  DUP1 SLOAD                            ; balance, from, to, amount
  DUP4 DUP2 LT @notEnough JUMPI
  DUP4 SWAP1 SUB DUP2 SSTORE            ; from has less
  DUP2 SLOAD DUP4 ADD DUP3 SSTORE       ; to has more
  SWAP2 0 MSTORE                        ; amount into memory: to, from
  SWAP1 #Transfer 0x20 0 LOG3
  @done JUMP

  done:
  1 0 MSTORE 0x20 0 RETURN

  notEnough: #notEnough 17 @fail JUMP
  notAllowed: #notAllowed 27 @fail JUMP
  fail:                                 ; length, text
  #Error 0 MSTORE 0x20 4 MSTORE 0x24 MSTORE 0x44 MSTORE
  0x64 0 REVERT
`,
  { constants: CONSTANTS },
)

/** Code that makes the token. */
export const TOKEN = creation('1000000 CALLER SSTORE', TOKEN_RUNTIME)

/**
 * A market of two tokens, whose addresses are in slots 0 and 1: swap(amount) takes so many of the
 * first from its caller, and gives 99 in 100 of the second.
 */
const MARKET_RUNTIME = assemble(
  `
  0 CALLDATALOAD 0xe0 SHR #swap EQ @swap JUMPI
  0 0 REVERT

  swap:
  ; transferFrom(caller, this, amount) of the first token
  #takeWord 0 MSTORE CALLER 4 MSTORE ADDRESS 0x24 MSTORE 4 CALLDATALOAD 0x44 MSTORE
  0 0 0x64 0 0 0 SLOAD GAS CALL ISZERO @passOn JUMPI
  ; balanceOf(this) of the second one
  #balanceWord 0 MSTORE ADDRESS 4 MSTORE
  0x20 0 0x24 0 1 SLOAD GAS STATICCALL ISZERO @passOn JUMPI
  ; console.log("swapped %d tokens", amount)
  #log 0 MSTORE 0x40 4 MSTORE 4 CALLDATALOAD 0x24 MSTORE 17 0x44 MSTORE #swapped 0x64 MSTORE
  0 0 0x84 0 #console GAS STATICCALL POP
  ; transfer(caller, amount * 99 / 100) of the second one
  #giveWord 0 MSTORE CALLER 4 MSTORE 100 99 4 CALLDATALOAD MUL DIV 0x24 MSTORE
  0 0 0x44 0 0 1 SLOAD GAS CALL ISZERO @passOn JUMPI
  STOP

  passOn:
  RETURNDATASIZE 0 0 RETURNDATACOPY RETURNDATASIZE 0 REVERT
`,
  {
    constants: {
      ...CONSTANTS,
      takeWord: CONSTANTS.transferFrom << 224n,
      balanceWord: CONSTANTS.balanceOf << 224n,
      giveWord: CONSTANTS.transfer << 224n,
    },
  },
)

/** Code that makes the market of two tokens. */
export const market = (first: string, second: string): Uint8Array => creation(`${first} 0 SSTORE ${second} 1 SSTORE`, MARKET_RUNTIME)

/** Code that makes a contract which never ends when it is called. */
export const ENDLESS = creation('', assemble('again: @again JUMP'))

/** A word of arguments: an address or a number. */
const word = (value: bigint | string): string => BigInt(value).toString(16).padStart(64, '0')

const call = (selector: bigint, ...values: readonly (bigint | string)[]): string =>
  `0x${selector.toString(16).padStart(8, '0')}${values.map(word).join('')}`

/** Calls of the contracts. */
export const CALLS = {
  transfer: (to: string, amount: bigint): string => call(CONSTANTS.transfer, to, amount),
  approve: (spender: string, amount: bigint): string => call(CONSTANTS.approve, spender, amount),
  balanceOf: (account: string): string => call(CONSTANTS.balanceOf, account),
  swap: (amount: bigint): string => call(CONSTANTS.swap, amount),
} as const
