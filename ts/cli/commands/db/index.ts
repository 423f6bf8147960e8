// hearth db: inspects and repairs the stores of a data directory. There is one file per command;
// this is their table.
import type { CommandFamily } from '../../command.ts'
import { COMMAND_DOCS } from '../../command-docs.ts'
import { dump } from './dump.ts'
import { exportState } from './export.ts'
import { importState } from './import.ts'
import { info } from './info.ts'
import { ls } from './ls.ts'
import { migrate } from './migrate.ts'
import { prune } from './prune.ts'
import { rebase } from './rebase.ts'
import { reindex } from './reindex.ts'
import { repair } from './repair.ts'
import { rollback } from './rollback.ts'
import { scrub } from './scrub.ts'
import { snapshot } from './snapshot.ts'
import { tableInfo } from './table-info.ts'
import { verify } from './verify.ts'

export const db: CommandFamily = {
  name: 'db',
  doc: COMMAND_DOCS.db,
  commands: [
    info,
    verify,
    repair,
    rollback,
    snapshot,
    exportState,
    importState,
    dump,
    reindex,
    migrate,
    ls,
    tableInfo,
    scrub,
    prune,
    rebase,
  ],
}
