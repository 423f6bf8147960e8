// Where the gas went: own gas by what was called.
import { flameName } from './flame.ts'
import type { Names } from './names.ts'
import type { Frame } from './tree.ts'

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
    const name = flameName(frame, names)
    const { gas, calls, failed, first } = sums.get(name) ?? { gas: 0, calls: 0, failed: 0, first: frame }
    const hasFailed = frame.error === undefined ? 0 : 1
    sums.set(name, { name, gas: gas + frame.ownGas, calls: calls + 1, failed: failed + hasFailed, first })
  }
  return [...sums.values()].sort((a, b) => b.gas - a.gas)
}
