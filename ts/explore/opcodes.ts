// What opcodes take from the stack and what they are about (execution-specs, "Instruction set").

/** Items that an opcode takes off the stack, those that are alike in groups. */
const TAKES: readonly (readonly [number, string])[] = [
  [1, 'ISZERO NOT BALANCE CALLDATALOAD EXTCODESIZE EXTCODEHASH BLOCKHASH BLOBHASH POP MLOAD SLOAD TLOAD JUMP SELFDESTRUCT CLZ'],
  [2, 'ADD MUL SUB DIV SDIV MOD SMOD EXP SIGNEXTEND LT GT SLT SGT EQ AND OR XOR BYTE SHL SHR SAR KECCAK256 SHA3'],
  [2, 'MSTORE MSTORE8 SSTORE TSTORE JUMPI RETURN REVERT LOG0'],
  [3, 'ADDMOD MULMOD CALLDATACOPY CODECOPY RETURNDATACOPY MCOPY CREATE LOG1'],
  [4, 'EXTCODECOPY CREATE2 LOG2'],
  [5, 'LOG3'],
  [6, 'DELEGATECALL STATICCALL LOG4'],
  [7, 'CALL CALLCODE'],
]

const taken = new Map(TAKES.flatMap(([count, names]) => names.split(' ').map((name) => [name, count] as const)))

/** Places on the stack that an opcode uses, 0 the top. */
export function stackUse(op: string): number[] {
  const [, kind, n] = /^(DUP|SWAP)(\d+)$/.exec(op) ?? []
  if (kind === 'DUP') return [Number(n) - 1]
  if (kind === 'SWAP') return [0, Number(n)]
  return Array.from({ length: taken.get(op) ?? 0 }, (_, i) => i)
}

/** What an opcode is about, for its colour; undefined for arithmetic and the like. */
export function opKind(op: string): 'storage' | 'call' | 'halt' | 'jump' | 'log' | undefined {
  if (/^(SLOAD|SSTORE|TLOAD|TSTORE)$/.test(op)) return 'storage'
  if (/CALL$|CALLCODE$|^CREATE/.test(op)) return 'call'
  if (/^(REVERT|INVALID|SELFDESTRUCT)$/.test(op)) return 'halt'
  if (/^JUMP/.test(op)) return 'jump'
  return op.startsWith('LOG') ? 'log' : undefined
}

/**
 * The bytes of memory that a step wrote, out of its stack (bottom first): offset and length;
 * undefined if it wrote none.
 */
export function memoryWritten(op: string, stack: readonly string[]): readonly [offset: number, length: number] | undefined {
  const top = (i: number): number => Number(stack.at(-1 - i) ?? Number.NaN)
  const [offset, length]: readonly [number, number] =
    op === 'MSTORE'
      ? [top(0), 32]
      : op === 'MSTORE8'
        ? [top(0), 1]
        : /^(CALLDATACOPY|CODECOPY|RETURNDATACOPY|MCOPY)$/.test(op)
          ? [top(0), top(2)]
          : op === 'EXTCODECOPY'
            ? [top(1), top(3)]
            : [Number.NaN, 0]
  return Number.isSafeInteger(offset) && Number.isSafeInteger(length) && length > 0 ? [offset, length] : undefined
}
