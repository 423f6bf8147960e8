// hearth db export: writes the state of a height as a stream. Works beside a running node.
import path from 'node:path'
import type { Command } from '../../command.ts'
import { heightOf } from '../job.ts'
import { DB_FLAGS, rowsLine, runTask } from './task.ts'
import { besideNode, bytesText } from './text.ts'

export const exportState: Command = {
  name: 'export',
  doc: 'Write the state at a height to a file, from which `hearth db import` makes a new data directory.',
  more: ['Beside a running node the state comes from a snapshot.'],
  flags: { ...DB_FLAGS, height: { value: 'HEIGHT', doc: 'Height. Default: the head, or that of the newest snapshot.' } },
  files: { name: 'FILE', min: 1, max: 1 },
  run(parsed, terminal) {
    const height = parsed.flags.get('height')
    const args = {
      height: height === undefined ? undefined : heightOf(height, 'height'),
      file: path.resolve(parsed.files[0] as string),
    }
    const text = ({
      head,
      rows,
      bytes,
      file,
      snapshot,
    }: {
      head: { height: number; hash: string }
      rows: { accounts: number; slots: number }
      bytes: number
      file: string
      snapshot: number | null
    }): string =>
      `${besideNode(snapshot)}exported height ${head.height} (${head.hash}) to ${file}: ${rows.accounts} accounts, ${rows.slots} slots, ${bytesText(bytes)}\n`
    return runTask(parsed, terminal, 'exportState', args, text, () => 0, rowsLine)
  },
}
