// hearth db snapshot: takes a snapshot of the head. Beside a running node, the node takes it.
import type { Command } from '../../command.ts'
import { DB_FLAGS, runTask } from './task.ts'

export const snapshot: Command = {
  name: 'snapshot',
  doc: 'Take a snapshot of the state at the head. A running node takes the snapshot itself.',
  flags: DB_FLAGS,
  run: (parsed, terminal) =>
    runTask(parsed, terminal, 'snapshot', {}, ({ height, hash, dir }) => `snapshot of height ${height} (${hash}) in ${dir}\n`),
}
