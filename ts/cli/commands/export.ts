// hearth export: writes the canonical chain as RLP, byte for byte what was imported.
import path from 'node:path'
import { UsageError } from '../args.ts'
import type { Command } from '../command.ts'
import { HOME_FLAG, homeOf, STORE_SETTINGS, settingsOf } from '../home.ts'
import { heightOf, runJob, STOPPED_EXIT, storage } from './job.ts'

function height(text: string | undefined, flag: string): number | undefined {
  return text === undefined ? undefined : heightOf(text, flag)
}

export const exportCommand: Command = {
  name: 'export',
  doc: 'Write the canonical chain as RLP blocks.',
  flags: {
    ...HOME_FLAG,
    from: { value: 'HEIGHT', doc: 'First block. Default: 1.' },
    to: { value: 'HEIGHT', doc: 'Last block. Default: the head.' },
    'with-genesis': { doc: 'Begin with block 0.' },
  },
  files: { name: 'FILE', min: 1, max: 1 },
  settings: STORE_SETTINGS,
  async run(parsed, terminal) {
    const home = homeOf(parsed)
    const { settings } = settingsOf(parsed, home, terminal)
    const from = height(parsed.flags.get('from'), 'from')
    const to = height(parsed.flags.get('to'), 'to')
    if (from !== undefined && to !== undefined && from > to) throw new UsageError(`--from ${from} is above --to ${to}`)
    const file = path.resolve(parsed.files[0] as string)
    const withGenesis = parsed.flags.has('with-genesis')
    if (withGenesis && from !== undefined && from > 0) throw new UsageError('--with-genesis and --from exclude each other')
    const done = await runJob({ job: 'export', file, from, to, withGenesis, ...storage(home, settings) }, terminal)
    if (done === undefined) {
      terminal.err('stopped: nothing was written\n')
      return STOPPED_EXIT
    }
    terminal.out(`exported ${done.result.blocks} blocks to ${file}\n`)
    return 0
  },
}
