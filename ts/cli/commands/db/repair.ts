// hearth db repair: sets what is damaged aside and makes it again. No node may run on the home.
import type { RepairReport } from '../../../core/db.ts'
import type { Command } from '../../command.ts'
import { DB_FLAGS, rowsLine, runTask } from './task.ts'

const DONE = {
  log_rewritten: 'the log was written again from the records that can be used',
  from_snapshot: 'the state was made from a snapshot and the log',
  from_log: 'the state was made from the log',
  from_ledger: 'the state was made by executing the ledger again',
} as const

function text({ problems, findings, actions, lost, head, capsules }: RepairReport): string {
  const lines = [...problems, ...findings]
  for (const { action, aside, height } of actions) {
    const of = height === undefined ? '' : ` of height ${height}`
    lines.push(`${DONE[action]}${of === '' ? '' : ` (snapshot${of})`}; the damaged one is in ${aside}`)
  }
  if (lost !== null) lines.push(`blocks ${lost.from} to ${lost.to} were given up`)
  const { made, left } = capsules
  if (made > 0) lines.push(`${made} trace capsules were made again`)
  if (left > 0) lines.push(`${left} blocks have no trace capsule that reads: they are traced from history, where that reaches`)
  if (actions.length === 0 && made === 0) lines.push('nothing to repair')
  lines.push(head === null ? 'the store is empty' : `head ${head.height} ${head.hash}`)
  return lines.map((line) => `${line}\n`).join('')
}

export const repair: Command = {
  name: 'repair',
  doc: 'Rebuild damaged state from a snapshot, the log or the ledger. The node must be stopped.',
  more: ['The state is verified first; a damaged store is moved aside, not deleted. Trace capsules are', 'rebuilt too.'],
  flags: { ...DB_FLAGS, yes: { doc: 'Give up blocks that nothing can bring back. Without it they are named and nothing changes.' } },
  run: (parsed, terminal) => runTask(parsed, terminal, 'repair', { acceptLoss: parsed.flags.has('yes') }, text, () => 0, rowsLine),
}
