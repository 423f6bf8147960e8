// hearth dev --demo: plays the demo on a chain without blocks, and prints its steps.

import type { DevAccount } from '../../core/native.ts'
import type { Core } from '../../core/port.ts'
import { readJson } from '../../core/results.ts'
import { type DemoStep, runDemo } from '../../dev/demo/index.ts'
import type { Origin } from '../../fork/index.ts'

/** Accounts that the demo takes part with. */
const PLAYERS = 2

const line = ({ hash, what, success }: DemoStep): string => `  ${hash}  ${what}${success ? '' : ' (fails)'}`

/** What came of the demo. */
interface Played {
  readonly steps: readonly DemoStep[]
  /** For a reader. */
  readonly text: string
}

/** Plays the demo on a chain that has no blocks of its own. */
export async function playDemo(core: Core, accounts: readonly DevAccount[], origin: Origin | undefined): Promise<Played> {
  const height = BigInt(await readJson(core, 'blockNumber', undefined))
  if (height !== BigInt(origin?.block.number ?? 0)) return { steps: [], text: 'The chain has blocks already: there is no demo.\n' }
  if (accounts.length < PLAYERS) return { steps: [], text: 'The demo takes two accounts: there is none.\n' }
  const steps = await runDemo(
    core,
    accounts.map(({ address }) => address),
  )
  return { steps, text: ['The demo, transactions worth tracing:', ...steps.map(line), ''].join('\n') }
}
