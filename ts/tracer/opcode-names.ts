// Names of the opcodes, as go-ethereum's scripts see them.

/** Runs of named opcodes: the first number, then names without gap. */
const RUNS: readonly (readonly [number, string])[] = [
  [0x00, 'STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND'],
  [0x10, 'LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ'],
  [0x20, 'KECCAK256'],
  [0x30, 'ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY'],
  [0x38, 'CODESIZE CODECOPY GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH'],
  [0x40, 'BLOCKHASH COINBASE TIMESTAMP NUMBER DIFFICULTY GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH BLOBBASEFEE'],
  [0x50, 'POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0'],
  [0xa0, 'LOG0 LOG1 LOG2 LOG3 LOG4'],
  [0xd0, 'DATALOAD DATALOADN DATASIZE DATACOPY'],
  [0xe0, 'RJUMP RJUMPI RJUMPV CALLF RETF JUMPF DUPN SWAPN EXCHANGE'],
  [0xec, 'EOFCREATE'],
  [0xee, 'RETURNCONTRACT'],
  [0xf0, 'CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2'],
  [0xf7, 'RETURNDATALOAD EXTCALL EXTDELEGATECALL STATICCALL EXTSTATICCALL'],
  [0xfd, 'REVERT INVALID SELFDESTRUCT'],
]

/** Numbered families: first opcode, name, first number, count. */
const FAMILIES: readonly (readonly [number, string, number])[] = [
  [0x60, 'PUSH', 32],
  [0x80, 'DUP', 16],
  [0x90, 'SWAP', 16],
]

/** Name of each opcode. */
export function opcodeNames(): readonly string[] {
  const names: string[] = []
  for (let op = 0; op < 256; op++) names[op] = `opcode 0x${op.toString(16)} not defined`
  for (const [first, words] of RUNS) for (const [i, name] of words.split(' ').entries()) names[first + i] = name
  for (const [first, name, count] of FAMILIES) for (let i = 0; i < count; i++) names[first + i] = `${name}${i + 1}`
  return names
}
