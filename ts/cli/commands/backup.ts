// hearth backup: makes a copy of the home in a folder of its own. Works beside a running node.
import path from 'node:path'
import type { Command } from '../command.ts'
import { DB_FLAGS, required, runTask } from './db/task.ts'
import { bytesText } from './db/text.ts'

export const backup: Command = {
  name: 'backup',
  doc: 'Back the home up into a folder of its own, which is a home itself. Beside a running node: from its newest snapshot and its log, by files alone.',
  flags: { ...DB_FLAGS, to: { value: 'DIR', doc: 'Folder of the backups. Files that an earlier one there has are linked, not copied.' } },
  run: (parsed, terminal) =>
    runTask(
      parsed,
      terminal,
      'backup',
      { to: path.resolve(required(parsed, 'to')) },
      ({ dir, head, besideNode, snapshot, copied, linked }) =>
        `backup of height ${head.height} (${head.hash}) in ${dir}\n` +
        `${besideNode ? `a node has the home: the state is that of its snapshot of height ${snapshot}, brought forward by its log\n` : ''}` +
        `copied ${copied.files} files (${bytesText(copied.bytes)}), linked ${linked.files} (${bytesText(linked.bytes)})\n`,
    ),
}
