// Where the gas went: own gas by what was called.
import type { Names } from './names.ts'
import { type Frame, isCreation } from './tree.ts'

/** Frames of one contract and function together. */
export interface Hot {
  readonly name: string
  readonly gas: number
  readonly calls: number
  readonly failed: number
  /** The first of the frames. */
  readonly first: Frame
}

/** The sums, the most gas first. */
export function hotFunctions(frames: Iterable<Frame>, names: Names): Hot[] {
  const sums = new Map<string, Hot>()
  for (const frame of frames) {
    const name = isCreation(frame.kind)
      ? 'new contracts'
      : `${names.address(frame.to ?? '0x')}::${names.call(frame.input).replace(/\(.*$/s, '')}`
    const { gas, calls, failed, first } = sums.get(name) ?? { gas: 0, calls: 0, failed: 0, first: frame }
    const hasFailed = frame.error === undefined ? 0 : 1
    sums.set(name, { name, gas: gas + frame.ownGas, calls: calls + 1, failed: failed + hasFailed, first })
  }
  return [...sums.values()].sort((a, b) => b.gas - a.gas)
}
