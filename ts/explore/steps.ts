// Steps and gas by opcode as text.
import { grouped } from './text.ts'

/** A step as debug_traceSteps gives it. */
export interface RawStep {
  readonly index: number
  /** Number of the frame, in callTracer's order. */
  readonly frame: number
  readonly pc: number
  readonly op: string
  readonly gas: number
  readonly gasCost: number
  readonly stack?: readonly string[]
  /** All items of the stack, where `stack` is its top alone. */
  readonly stackSize?: number
  readonly storage?: Readonly<Record<string, string>>
  readonly error?: string
}

/** A row of debug_traceGasProfile by opcode: name, number of steps, their own gas. */
export type OpcodeRow = readonly [op: string, count: number, gas: number]

/** Widths of the columns of steps, in characters. */
const COLUMNS = { index: 10, frame: 12, pc: 6, op: 14, gas: 12, cost: 10 } as const

/** What stands above steps. */
export const STEPS_HEADING = [
  'step'.padStart(COLUMNS.index),
  'frame'.padEnd(COLUMNS.frame),
  'pc'.padStart(COLUMNS.pc),
  'opcode'.padEnd(COLUMNS.op),
  'gas'.padStart(COLUMNS.gas),
  'cost'.padStart(COLUMNS.cost),
  'stack, its top first',
].join('  ')

/** A step on a line; `ids` are the ids of the tree's frames by number. */
export function stepText({ index, frame, pc, op, gas, gasCost, stack = [], stackSize, error }: RawStep, ids: readonly string[]): string {
  const hidden = (stackSize ?? stack.length) - stack.length
  const items = [...stack].reverse().join(' ')
  const columns = [
    String(index).padStart(COLUMNS.index),
    `[${ids[frame] ?? `#${frame}`}]`.padEnd(COLUMNS.frame),
    String(pc).padStart(COLUMNS.pc),
    op.padEnd(COLUMNS.op),
    grouped(gas).padStart(COLUMNS.gas),
    grouped(gasCost).padStart(COLUMNS.cost),
    `${items}${hidden > 0 ? ` … ${hidden} more` : ''}${error === undefined ? '' : `  ✗ ${error}`}`,
  ]
  return columns.join('  ').trimEnd()
}

/** Gas by opcode, the most first. */
export function opcodeText(rows: readonly OpcodeRow[], { executionGas, stepsGas }: { executionGas: number; stepsGas: number }): string {
  const line = (gas: number, count: string, name: string): string => {
    const share = executionGas === 0 ? 0 : (100 * gas) / executionGas
    return `${grouped(gas).padStart(12)}  ${share.toFixed(1).padStart(5)} %  ${count.padStart(13)}  ${name}`
  }
  const sorted = [...rows].sort(([a, , x], [b, , y]) => y - x || (a < b ? -1 : 1))
  const lines = sorted.map(([op, count, gas]) => line(gas, `${grouped(count)} ${count === 1 ? 'step ' : 'steps'}`, op))
  const rest = executionGas - stepsGas
  if (rest > 0) lines.push(line(rest, '', 'precompiled contracts and deposits of code'))
  return `${lines.join('\n')}\n`
}
