// Memory that long struct logs cost a node: what the process adds at its peak while it answers.
import { haveAnvil, startAnvil } from './anvil.mjs'
import { addedMiB } from './process.mjs'
import { ask } from './rpc.mjs'
import { table } from './stats.mjs'

/** `JUMPDEST PUSH1 1 POP PUSH1 0 JUMP`, until the gas is used up: five steps for 17 gas. */
const LOOP = { code: '0x5b600150600056', steps: 5, gas: 17 }
const LOOP_ADDRESS = '0x00000000000000000000000000000000000d00d5'

/** Steps of the push/pop loop. */
export const LOOP_STEPS = [100_000, 1_000_000, 10_000_000]

/**
 * Steps up to which nodes that hold whole answers are measured, unless `--all`: ten million are
 * many gigabytes.
 */
export const HELD_STEPS_MAX = process.argv.includes('--all') ? 10_000_000 : 1_000_000

/**
 * Parameters of the debug_traceCall that makes so many steps, and a few.
 *
 * @returns {[call: object, block: string, config: { timeout: string, stateOverrides: object }]}
 */
export function loopParams(steps) {
  const gas = `0x${Math.ceil((steps / LOOP.steps) * LOOP.gas + 21_000).toString(16)}`
  return [{ to: LOOP_ADDRESS, gas }, 'latest', { timeout: '300s', stateOverrides: { [LOOP_ADDRESS]: { code: LOOP.code } } }]
}

/**
 * Table of memory: ours, geth's where it runs, anvil's where it is installed.
 *
 * @param {Record<string, any>} sides
 */
export async function memoryTable({ ours, theirs }) {
  const anvil = haveAnvil() ? await startAnvil() : undefined
  const rows = []
  try {
    for (const steps of LOOP_STEPS) {
      const cell = async (node, held) => {
        if (node === undefined) return 'skipped'
        if (held && steps > HELD_STEPS_MAX) return 'not measured (--all measures it)'
        try {
          const added = await addedMiB(node.pid, () => ask(node.url, 'debug_traceCall', loopParams(steps)))
          return added === undefined ? 'not known here' : added.toFixed(0)
        } catch (e) {
          return `failed: ${e.message.slice(0, 80)}`
        }
      }
      rows.push([`struct logs, ${steps / 1e6} M steps`, await cell(ours, false), await cell(theirs, true), await cell(anvil, true)])
    }
  } finally {
    await anvil?.stop()
  }
  table('trace', ['row', 'hearth', 'geth', 'anvil 1.7.1'], rows, 'memory that a trace adds at its peak (MiB)')
}
