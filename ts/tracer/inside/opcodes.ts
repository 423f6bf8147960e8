// Opcodes by number.

/** The first opcode and the last that push a constant. */
export const PUSH0 = 0x5f
export const PUSH32 = 0x7f

/** Name of each opcode; what bundles the inside puts the list there. */
declare const OPCODE_NAMES: readonly string[]

/** Name of an opcode. */
export const nameOf = (op: number): string => OPCODE_NAMES[op] as string
