// hearth backup: makes a copy of the data directory in a folder of its own. Works beside a running node.
import path from 'node:path'
import type { BackupReport } from '../../core/db.ts'
import type { Command } from '../command.ts'
import { DB_FLAGS, required, runTask } from './db/task.ts'
import { bytesText } from './db/text.ts'

const filesText = (n: number): string => (n === 1 ? '1 file' : `${n} files`)

function linkedText({ files, bytes }: BackupReport['linked']): string {
  if (files === 0) return 'no file is shared with the data directory or another backup'
  const are = files === 1 ? 'is a hard link' : 'are hard links'
  return `${filesText(files)} (${bytesText(bytes)}) ${are} to the same data on the disk as the data directory or an earlier backup`
}

function text({ dir, head, besideNode, snapshot, copied, linked }: BackupReport): string {
  const lines = [
    `backup of height ${head.height} (${head.hash}) in ${dir}`,
    ...(besideNode ? [`made beside a running node, from its snapshot of height ${snapshot} and its log`] : []),
    `copied ${filesText(copied.files)} (${bytesText(copied.bytes)}); ${linkedText(linked)}`,
    `to check it: hearth db verify --home ${dir}`,
    `to go back to it: stop the node, move the data directory away, and cp -a ${dir} to its place`,
  ]
  return lines.map((line) => `${line}\n`).join('')
}

export const backup: Command = {
  name: 'backup',
  doc: 'Copy the data directory into a new folder, also while a node runs on it.',
  more: [
    'Each backup is a data directory of its own, DIR/HEIGHT-NUMBER. Files that never change are hard',
    'links: they take no space and share their data on the disk with the data directory or the backup',
    'before, so damage to the disk there damages both. For a backup that has to survive the disk,',
    'copy the folder to another one.',
  ],
  flags: { ...DB_FLAGS, to: { value: 'DIR', doc: 'Folder of the backups.' } },
  run: (parsed, terminal) => runTask(parsed, terminal, 'backup', { to: path.resolve(required(parsed, 'to')) }, text),
}
