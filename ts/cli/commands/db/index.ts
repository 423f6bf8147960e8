// hearth db: looks at the stores of a home and mends them. One command a file; this is their table.
import type { CommandFamily } from '../../command.ts'
import { ls } from './ls.ts'
import { prune } from './prune.ts'
import { rebase } from './rebase.ts'
import { scrub } from './scrub.ts'
import { tableInfo } from './table-info.ts'

export const db: CommandFamily = {
  name: 'db',
  doc: 'Look at the stores of a home, or mend them: hearth db lists how.',
  commands: [ls, tableInfo, scrub, prune, rebase],
}
