// What can be recorded of a transaction: one bit each. The core knows the same numbers.

export const FIELD = {
  step: 1 << 0,
  op: 1 << 1,
  pc: 1 << 2,
  gas: 1 << 3,
  cost: 1 << 4,
  depth: 1 << 5,
  refund: 1 << 6,
  stack: 1 << 7,
  memory: 1 << 8,
  memoryLength: 1 << 9,
  contract: 1 << 10,
  input: 1 << 11,
  frames: 1 << 12,
  journal: 1 << 13,
} as const
