// Code as instructions (execution-specs, "Instruction set").

/** Names of opcodes from 0 on; an empty one is undefined. */
const NAMES: readonly (readonly [number, string])[] = [
  [0x00, 'STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND'],
  [0x10, 'LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ'],
  [0x20, 'KECCAK256'],
  [
    0x30,
    'ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE CODECOPY GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH',
  ],
  [0x40, 'BLOCKHASH COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH BLOBBASEFEE'],
  [0x50, 'POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0'],
  [0xf0, 'CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2'],
  [0xfa, 'STATICCALL'],
  [0xfd, 'REVERT INVALID SELFDESTRUCT'],
]

const [PUSH1, PUSH32, DUP1, SWAP1, SWAP16, LOG0, LOG4, JUMPDEST] = [0x60, 0x7f, 0x80, 0x90, 0x9f, 0xa0, 0xa4, 0x5b]

const named = new Map(NAMES.flatMap(([first, names]) => names.split(' ').map((name, i) => [first + i, name] as const)))

/** The name of an opcode; undefined for one that there is not. */
export function opName(op: number): string | undefined {
  if (op >= PUSH1 && op <= PUSH32) return `PUSH${op - PUSH1 + 1}`
  if (op >= DUP1 && op < SWAP1) return `DUP${op - DUP1 + 1}`
  if (op >= SWAP1 && op <= SWAP16) return `SWAP${op - SWAP1 + 1}`
  if (op >= LOG0 && op <= LOG4) return `LOG${op - LOG0}`
  return named.get(op)
}

/** An instruction. */
export interface Instruction {
  readonly pc: number
  readonly name: string
  /** What a PUSH has behind it, `0x…`; empty for others. */
  readonly data: string
  /** Whether a jump may lead here. */
  readonly isTarget: boolean
}

/** The instructions of a code, `0x…`; a PUSH past the end has the bytes that are left. */
export function disassembled(code: string): Instruction[] {
  const hex = code.slice(2)
  const rows: Instruction[] = []
  for (let pc = 0; 2 * pc < hex.length; ) {
    const op = Number.parseInt(hex.slice(2 * pc, 2 * pc + 2), 16)
    const length = op >= PUSH1 && op <= PUSH32 ? op - PUSH1 + 1 : 0
    const data = length === 0 ? '' : `0x${hex.slice(2 * pc + 2, 2 * (pc + 1 + length))}`
    rows.push({ pc, name: opName(op) ?? `opcode 0x${op.toString(16)} not defined`, data, isTarget: op === JUMPDEST })
    pc += 1 + length
  }
  return rows
}
