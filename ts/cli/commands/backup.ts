// hearth backup: copies the data directory into another folder, also while the node is running.
import path from 'node:path'
import { engineFilesIn, keepEngineFiles } from '../../consensus/backup.ts'
import type { BackupReport } from '../../core/db.ts'
import { type Parsed, UsageError } from '../args.ts'
import type { Command } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { homeOf } from '../home.ts'
import { DB_FLAGS, required, runTask } from './db/task.ts'
import { bytesText } from './db/text.ts'

/** Most backups that --keep may name. */
const KEEP_MAX = 1_000_000

function keepOf(parsed: Parsed): number | undefined {
  const text = parsed.flags.get('keep')
  if (text === undefined) return undefined
  const n = Number(text)
  if (!/^\d+$/.test(text) || n < 1 || n > KEEP_MAX)
    throw new UsageError(`--keep takes a number of backups from 1 to ${KEEP_MAX}, not ${JSON.stringify(text)}`)
  return n
}

const filesText = (n: number): string => (n === 1 ? '1 file' : `${n} files`)

function linkedText({ files, bytes }: BackupReport['linked']): string {
  if (files === 0) return 'no file is shared with the data directory or another backup'
  const are = files === 1 ? 'is a hard link' : 'are hard links'
  return `${filesText(files)} (${bytesText(bytes)}) ${are} to the same data on the disk as the data directory or an earlier backup (--copy copies them)`
}

/** What a backup says of the files of CometBFT. */
function engineText(isKeyWanted: boolean): string {
  const key = isKeyWanted
    ? 'the key of the validator: a second node with this key signs twice and loses its stake, so never start the backup while the validator runs'
    : 'no key of the validator (--validator-key adds it)'
  return `files of CometBFT: settings, genesis, node key; ${key}; its blocks are not copied: keep the folder cometbft/data, or sync again\n`
}

function text({ dir, head, besideNode, snapshot, copied, linked, removed }: BackupReport): string {
  const lines = [
    `backup of height ${head.height} (${head.hash}) in ${dir}`,
    ...(besideNode ? [`made beside a running node, from its snapshot of height ${snapshot} and its log`] : []),
    `copied ${filesText(copied.files)} (${bytesText(copied.bytes)}); ${linkedText(linked)}`,
    ...removed.map((old) => `removed ${old}`),
    `to check it: hearth db verify --home ${dir}`,
    `to go back to it: stop the node, move the data directory away, and cp -a ${dir} to its place`,
  ]
  return lines.map((line) => `${line}\n`).join('')
}

export const backup: Command = {
  name: 'backup',
  doc: COMMAND_DOCS.backup,
  more: [
    'Each backup is a data directory of its own, DIR/HEIGHT-NUMBER. Files that never change are hard',
    'links: they take no space and share their data on the disk with the data directory or the backup',
    'before, so damage to the disk there damages both. Use --copy for full copies, or copy the',
    'folder to another disk, if the backup has to survive the disk.',
  ],
  flags: {
    ...DB_FLAGS,
    to: { value: 'DIR', doc: 'Folder of the backups.' },
    copy: { doc: 'Copy every file instead of hard links.' },
    'validator-key': {
      doc: 'Copy the key with which this node votes, and what it signed last, under CometBFT. Not copied by default: two nodes with the same key double-sign.',
    },
    keep: { value: 'N', doc: 'Remove all but the N newest backups in DIR afterwards.' },
  },
  run: (parsed, terminal) => {
    const args = { to: path.resolve(required(parsed, 'to')), copy: parsed.flags.has('copy'), keep: keepOf(parsed) }
    const [home, isKeyWanted] = [homeOf(parsed), parsed.flags.has('validator-key')]
    if (isKeyWanted && !engineFilesIn(home))
      throw new UsageError(`${home} has no folder cometbft, and so no key of a validator: leave --validator-key out`)
    const said = (report: BackupReport): string => text(report) + (engineFilesIn(home) ? engineText(isKeyWanted) : '')
    return runTask(parsed, terminal, 'backup', args, said, ({ dir }) => {
      keepEngineFiles(home, dir, isKeyWanted)
      return 0
    })
  },
}
