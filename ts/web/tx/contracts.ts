// The contracts of a trace by compiler artifacts. What reads artifacts is loaded where there are
// any.
import { signal } from '@preact/signals'
import { useResource } from '../store/resource.ts'
import type { Contracts } from '../tools/contracts.ts'
import type { Trace } from './load.ts'

/** Whether the node was given artifacts. */
export const nodeHasArtifacts = document.querySelector('meta[name="hearth-artifacts"]')?.getAttribute('content') === 'yes'

/** Rises when the reader gives artifacts; 0 without any. */
export const given = signal(0)

let lastTrace = 0
const numbers = new WeakMap<Trace, number>()

/** A number of its own for a trace. */
function numberOf(trace: Trace): number {
  const number = numbers.get(trace) ?? ++lastTrace
  numbers.set(trace, number)
  return number
}

/** The contracts of a trace; undefined until they are known, and without artifacts. */
export function useContracts(trace: Trace): Contracts | undefined {
  const isAsked = nodeHasArtifacts || given.value > 0
  const { value } = useResource(isAsked ? `contracts ${numberOf(trace)} ${given.value}` : undefined, async (signal) =>
    (await import('../tools/contracts.ts')).contractsOf(trace, nodeHasArtifacts, signal),
  )
  return value
}
