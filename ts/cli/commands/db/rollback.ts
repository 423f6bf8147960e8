// hearth db rollback: takes the chain back to a height. No node may run on the home.
import type { RollbackReport } from '../../../core/db.ts'
import type { Command, JsonReport } from '../../command.ts'
import { heightOf } from '../job.ts'
import { DB_FLAGS, required, runTask } from './task.ts'

/** Exit code where the user says no. */
const DECLINED = 1

function text({ from, to, head }: RollbackReport): string {
  const blocks = from.height - to.height
  const many = blocks === 1 ? '1 block' : `${blocks} blocks`
  const [rolled, leave, after] =
    head === null ? ['would roll', 'would leave', 'nothing was changed'] : ['rolled', 'left', 'they stay in the ledger']
  return `${rolled} back from block ${from.height} ${from.hash} to block ${to.height} ${to.hash}: ${many} ${leave} the canonical chain; ${after}\n`
}

const block = (height: number) => ({ height, hash: '0x…' })
const head = (height: number) => ({ ...block(height), commitment: '0x…' })

const EXAMPLE: RollbackReport = { from: head(120), to: block(100), head: head(100) }

const REPORT: JsonReport = {
  example: EXAMPLE,
  notes: [
    'from is the head before, to the block that was named, head the head afterwards: null with',
    '--dry-run, which changes nothing. commitment is the state root. --json needs no confirmation.',
  ],
}

export const rollback: Command = {
  name: 'rollback',
  doc: 'Take the chain back to a height. The node must be stopped.',
  more: [
    'Checks first that every store can reach that height. The blocks above it stay in the ledger; an',
    'import executes them again. At a terminal, the command shows the number of blocks and waits for',
    'a yes.',
  ],
  report: REPORT,
  flags: {
    ...DB_FLAGS,
    to: { value: 'HEIGHT', doc: 'Height of the new head.' },
    'dry-run': { doc: 'Print how many blocks would leave the chain; change nothing.' },
    yes: { doc: 'Roll back without confirmation.' },
    'from-snapshot': { doc: 'Rebuild the state from a snapshot and the log, even if the history suffices.' },
  },
  async run(parsed, terminal) {
    const args = { to: heightOf(required(parsed, 'to'), 'to'), fromSnapshot: parsed.flags.has('from-snapshot') }
    const roll = (dryRun: boolean): Promise<number> => runTask(parsed, terminal, 'rollback', { ...args, dryRun }, text)
    if (parsed.flags.has('dry-run')) return await roll(true)
    if (terminal.ask !== undefined && !parsed.flags.has('yes') && !parsed.flags.has('json')) {
      const code = await roll(true)
      if (code !== 0) return code
      if (!(await terminal.ask('Roll back? [y/N] '))) return DECLINED
    }
    return await roll(false)
  },
}
