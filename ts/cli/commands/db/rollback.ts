// hearth db rollback: takes the chain back to a height. No node may run on the home.
import type { Command } from '../../command.ts'
import { heightOf } from '../job.ts'
import { DB_FLAGS, required, runTask } from './task.ts'

export const rollback: Command = {
  name: 'rollback',
  doc: 'Take the chain back to a height. Every store is asked first; blocks above stay in the ledger. The node must be stopped.',
  flags: {
    ...DB_FLAGS,
    to: { value: 'HEIGHT', doc: 'Height of the new head.' },
    'from-snapshot': { doc: 'Make the state from a snapshot and the log even where history would do.' },
  },
  run: (parsed, terminal) =>
    runTask(
      parsed,
      terminal,
      'rollback',
      { to: heightOf(required(parsed, 'to'), 'to'), anew: parsed.flags.has('from-snapshot') },
      ({ head }) => `head ${head.height} ${head.hash}\n`,
    ),
}
