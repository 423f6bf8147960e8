// hearth db migrate: makes a home of an older format one of this version's.
import type { Command } from '../../command.ts'
import { DB_FLAGS, runTask } from './task.ts'

export const migrate: Command = {
  name: 'migrate',
  doc: 'Make a home of an older format one of this version, as opening it does. The node must be stopped.',
  flags: DB_FLAGS,
  run: (parsed, terminal) =>
    runTask(parsed, terminal, 'migrate', {}, ({ from, to, head }) =>
      from === to ? `the home has format ${to} already; head ${head.height}\n` : `format ${from} became ${to}; head ${head.height}\n`,
    ),
}
