// hearth db ls: the tables of the ledger, or of a littable elsewhere. Works beside a running node.
import type { Command } from '../../command.ts'
import { rootsOf, runTask, TABLE_FLAGS } from './task.ts'
import { bytesText, columns } from './text.ts'

export const ls: Command = {
  name: 'ls',
  doc: 'List the tables of the ledger with their sizes, also while a node runs.',
  flags: TABLE_FLAGS,
  run: (parsed, terminal) =>
    runTask(parsed, terminal, 'ls', { roots: rootsOf(parsed) }, ({ tables }) =>
      columns(
        ['table', 'keys', 'size'],
        tables.map(({ name, keys, bytes }) => [name, keys, bytesText(bytes)]),
      ),
    ),
}
