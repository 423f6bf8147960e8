// hearth db migrate: makes a home of an older format one of this version's.
import type { Command } from '../../command.ts'
import { DB_FLAGS, runTask } from './task.ts'

export const migrate: Command = {
  name: 'migrate',
  doc: 'Bring a data directory to the format of this version, as `start` does. The node must be stopped.',
  more: ['There is no way back to the older format: take a backup before.'],
  flags: DB_FLAGS,
  run: (parsed, terminal) =>
    runTask(parsed, terminal, 'migrate', {}, ({ from, to, head }) =>
      from === to
        ? `the data directory has format ${to} already; head ${head.height}\n`
        : `migrated from format ${from} to ${to}; head ${head.height}\n`,
    ),
}
