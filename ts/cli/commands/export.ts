// hearth export: writes the canonical chain as RLP, byte for byte what was imported.
import fs from 'node:fs'
import path from 'node:path'
import { STANDARD_STREAM } from '../../core/jobs.ts'
import { storage } from '../../node/node-config.ts'
import { UsageError } from '../args.ts'
import type { Command } from '../command.ts'
import { COMMAND_DOCS } from '../command-docs.ts'
import { HOME_FLAG, homeOf, STORE_SETTINGS, settingsOf } from '../home.ts'
import { heightOf, runJob, STOPPED_EXIT } from './job.ts'

function height(text: string | undefined, flag: string): number | undefined {
  return text === undefined ? undefined : heightOf(text, flag)
}

/** The file to write; an existing one is replaced only with --force. */
function outputFile(file: string, force: boolean): string {
  if (file === STANDARD_STREAM) return file
  const there = fs.statSync(file, { throwIfNoEntry: false })
  if (there?.isDirectory()) throw new UsageError(`${file} is a folder: name a file in it`)
  if (there?.isFile() && !force) throw new UsageError(`${file} exists already: give --force to replace it, or another name`)
  return path.resolve(file)
}

export const exportCommand: Command = {
  name: 'export',
  doc: COMMAND_DOCS.export,
  more: ['A FILE that ends in .gz is compressed with gzip; - is standard output. On failure no file is left.'],
  flags: {
    ...HOME_FLAG,
    from: { value: 'HEIGHT', doc: 'First block. Default: 1.' },
    to: { value: 'HEIGHT', doc: 'Last block. Default: the head.' },
    'with-genesis': { doc: 'Start with block 0.' },
    force: { doc: 'Replace FILE if it exists.' },
  },
  files: { name: 'FILE', min: 1, max: 1 },
  settings: STORE_SETTINGS,
  async run(parsed, terminal) {
    const home = homeOf(parsed)
    const { settings } = settingsOf(parsed, home, terminal)
    const from = height(parsed.flags.get('from'), 'from')
    const to = height(parsed.flags.get('to'), 'to')
    if (from !== undefined && to !== undefined && from > to) throw new UsageError(`--from ${from} is above --to ${to}`)
    const withGenesis = parsed.flags.has('with-genesis')
    if (withGenesis && from !== undefined && from > 0) throw new UsageError('--with-genesis and --from exclude each other')
    const file = outputFile(parsed.files[0] as string, parsed.flags.has('force'))
    const isStream = file === STANDARD_STREAM
    const done = await runJob({ job: 'export', file, from, to, withGenesis, ...storage(home, settings) }, terminal)
    if (done === undefined) {
      terminal.err(isStream ? 'stopped before the last block\n' : 'stopped: nothing was written\n')
      return STOPPED_EXIT
    }
    const say = isStream ? terminal.err : terminal.out
    say(`exported ${done.result.blocks} blocks to ${isStream ? 'standard output' : file}\n`)
    return 0
  },
}
