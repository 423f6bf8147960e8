// hearth db rebase: moves the tables into other folders, and forgets the folders that they left. No
// node may run on the home.
import path from 'node:path'
import { UsageError } from '../../args.ts'
import type { Command } from '../../command.ts'
import { homeOf } from '../../home.ts'
import { rootsOf, runTask, TABLE_FLAGS } from './task.ts'
import { bytesText } from './text.ts'

export const rebase: Command = {
  name: 'rebase',
  doc: 'Move the tables of the ledger to other folders. The node must be stopped.',
  flags: {
    ...TABLE_FLAGS,
    to: {
      value: 'DIR',
      many: true,
      doc: 'A folder for the tables; repeatable. Folders that are not named are emptied.',
    },
    table: { value: 'T', doc: 'Move only this table; no folder is removed.' },
  },
  async run(parsed, terminal) {
    const to = (parsed.lists.get('to') ?? []).map((dir) => path.resolve(dir))
    if (to.length === 0) throw new UsageError('--to is missing')
    const roots = rootsOf(parsed)
    const own = path.join(homeOf(parsed), 'data', 'ledger')
    return runTask(
      parsed,
      terminal,
      'rebase',
      { roots, to, table: parsed.flags.get('table') },
      ({ filesMoved, bytesMoved, roots: now }) => {
        const extra = now.filter((root) => root !== own)
        const remember = roots.length > 0 ? '' : `; the setting is now littable.extra_roots = ${JSON.stringify(extra)}`
        return `moved ${filesMoved} files (${bytesText(bytesMoved)}) into ${now.join(', ')}${remember}\n`
      },
    )
  },
}
