// hearth db reindex: rebuilds the address index. No node may run on the home.
import type { ReindexReport } from '../../../core/db.ts'
import type { Command } from '../../command.ts'
import { DB_FLAGS, rowsLine, runTask } from './task.ts'

/** Blocks of a page of the index. */
const PAGE_BLOCKS = 256

function text({ pages, unknown, first, head }: ReindexReport): string {
  const lines = [`${pages * PAGE_BLOCKS} blocks are indexed from block ${first} on; head ${head.height}`]
  if (unknown > 0)
    lines.push(
      `${unknown} of them have no trace capsule and are looked at by every search: \`hearth db repair\` makes capsules, as far as history reaches`,
    )
  return lines.map((line) => `${line}\n`).join('')
}

export const reindex: Command = {
  name: 'reindex',
  doc: 'Rebuild the address index from the trace capsules. The node must be stopped.',
  more: [
    'The index says which blocks trace_filter and ots_searchTransactions* trace. A node builds what is',
    'missing in the background; this command replaces an index that is damaged, or brings blocks back',
    'after evm.address_index_window_blocks was raised. The node indexes the newest 320 blocks itself.',
  ],
  flags: DB_FLAGS,
  run: (parsed, terminal) => runTask(parsed, terminal, 'reindex', {}, text, () => 0, rowsLine),
}
