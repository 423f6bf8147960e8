// hearth db dump: writes the rows of a data DB as lines. Works beside a running node.
import path from 'node:path'
import type { Command } from '../../command.ts'
import { DB_FLAGS, required, rowsLine, runTask } from './task.ts'
import { besideNode } from './text.ts'

export const dump: Command = {
  name: 'dump',
  doc: 'Write the newest rows of one database of the state to a file, in hexadecimal.',
  more: ['A line has key, height of the last change and value. Beside a running node: of its newest snapshot.'],
  flags: { ...DB_FLAGS, db: { value: 'DB', doc: 'account, code, storage, legacy or metadata.' } },
  files: { name: 'FILE', min: 1, max: 1 },
  run: (parsed, terminal) =>
    runTask(
      parsed,
      terminal,
      'dump',
      { db: required(parsed, 'db'), file: path.resolve(parsed.files[0] as string) },
      ({ db, rows, file, snapshot }) => `${besideNode(snapshot)}${db}: ${rows} rows in ${file}\n`,
      () => 0,
      rowsLine,
    ),
}
