// A small assembler of EVM code, for the contracts of the demo.
//
// One instruction a line or several; `;` begins a comment. A number, in hex or decimal, pushes
// itself in as few bytes as it takes. `name:` is a place to jump to (JUMPDEST), `@name` pushes it.
// `#name` pushes a constant that is given, `!name` the length of a part that is, and `&name` the
// place where that part begins; parts stand behind the code in the order of their names in the
// text.

/**
 * Opcodes by name (Ethereum yellow paper, appendix H, and later EIPs), as far as the demo uses
 * them.
 */
const OPCODES: Readonly<Record<string, number>> = {
  STOP: 0x00,
  ADD: 0x01,
  MUL: 0x02,
  SUB: 0x03,
  DIV: 0x04,
  LT: 0x10,
  EQ: 0x14,
  ISZERO: 0x15,
  SHR: 0x1c,
  KECCAK256: 0x20,
  ADDRESS: 0x30,
  CALLER: 0x33,
  CALLVALUE: 0x34,
  CALLDATALOAD: 0x35,
  CODECOPY: 0x39,
  CODESIZE: 0x38,
  RETURNDATASIZE: 0x3d,
  RETURNDATACOPY: 0x3e,
  POP: 0x50,
  MLOAD: 0x51,
  MSTORE: 0x52,
  SLOAD: 0x54,
  SSTORE: 0x55,
  JUMP: 0x56,
  JUMPI: 0x57,
  GAS: 0x5a,
  LOG3: 0xa3,
  CALL: 0xf1,
  RETURN: 0xf3,
  STATICCALL: 0xfa,
  REVERT: 0xfd,
}

const PUSH0 = 0x5f
const DUP1 = 0x80
const SWAP1 = 0x90
const JUMPDEST = 0x5b
/** Places are pushed in so many bytes, whatever they are. */
const PLACE_BYTES = 2
const PUSH_PLACE = PUSH0 + PLACE_BYTES

/** What a text refers to. */
export interface Given {
  /** Numbers by name. */
  readonly constants?: Readonly<Record<string, bigint>>
  /** Bytes behind the code, by name. */
  readonly parts?: Readonly<Record<string, Uint8Array>>
}

/** A push of a place that is known at the end. */
interface Open {
  readonly at: number
  readonly name: string
}

/** Assembles a text; throws an `Error` that names the word that does not read. */
export function assemble(text: string, { constants = {}, parts = {} }: Given = {}): Uint8Array {
  const code: number[] = []
  const places = new Map<string, number>()
  const open: Open[] = []
  const used: string[] = []
  const place = (name: string): void => {
    code.push(PUSH_PLACE, 0, 0)
    open.push({ at: code.length - PLACE_BYTES, name })
  }
  for (const word of text.split('\n').flatMap((line) => line.replace(/;.*/, '').trim().split(/\s+/))) {
    const name = word.slice(1)
    if (word === '') continue
    if (word.endsWith(':')) {
      places.set(word.slice(0, -1), code.length)
      code.push(JUMPDEST)
    } else if (word.startsWith('@')) place(name)
    else if (word.startsWith('&')) {
      if (!used.includes(name)) used.push(name)
      place(`&${name}`)
    } else if (word.startsWith('!')) code.push(...push(BigInt(known(parts, name, word).length)))
    else if (word.startsWith('#')) code.push(...push(known(constants, name, word)))
    else if (/^(0x[0-9a-f]+|\d+)$/i.test(word)) code.push(...push(BigInt(word)))
    else code.push(opcode(word))
  }
  for (const name of used) {
    places.set(`&${name}`, code.length)
    code.push(...known(parts, name, `&${name}`))
  }
  for (const { at, name } of open) {
    const to = places.get(name)
    if (to === undefined) throw new Error(`no place is called ${name}`)
    code[at] = to >> 8
    code[at + 1] = to & 0xff
  }
  return Uint8Array.from(code)
}

function known<T>(from: Readonly<Record<string, T>>, name: string, word: string): T {
  const value = from[name]
  if (value === undefined) throw new Error(`${word} is not given`)
  return value
}

function opcode(word: string): number {
  const [, kind, number] = /^(DUP|SWAP)(\d+)$/.exec(word) ?? []
  if (kind !== undefined && Number(number) >= 1 && Number(number) <= 16) return (kind === 'DUP' ? DUP1 : SWAP1) + Number(number) - 1
  const code = OPCODES[word]
  if (code === undefined) throw new Error(`${JSON.stringify(word)} is no instruction`)
  return code
}

/** A push of a number in as few bytes as it takes. */
function push(value: bigint): number[] {
  if (value === 0n) return [PUSH0]
  const digits = value.toString(16)
  const bytes = [...Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')]
  if (bytes.length > 32) throw new Error(`${value} does not fit into 32 bytes`)
  return [PUSH0 + bytes.length, ...bytes]
}
