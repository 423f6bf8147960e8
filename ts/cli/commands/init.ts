// hearth init: makes a home with its settings file, and with a chain of one block where a genesis is given.
import fs from 'node:fs'
import type { Command } from '../command.ts'
import { HOME_FLAG, homeOf, makeHome, STORE_SETTINGS, settingsFile, settingsOf, writeSettingsFile } from '../home.ts'
import { inputFile, runJob, STOPPED_EXIT, storage } from './job.ts'

export const init: Command = {
  name: 'init',
  doc: 'Make a data directory: its settings file, and with --genesis the first block of a chain.',
  flags: { ...HOME_FLAG, genesis: { value: 'FILE', doc: 'Genesis in go-ethereum format.' } },
  settings: STORE_SETTINGS,
  async run(parsed, terminal) {
    const home = homeOf(parsed)
    const { settings } = settingsOf(parsed, home, terminal)
    const genesis = parsed.flags.get('genesis')
    const genesisFile = genesis === undefined ? undefined : inputFile(genesis, 'the genesis file')
    const file = settingsFile(home)
    makeHome(home)
    if (!fs.existsSync(file)) writeSettingsFile(file)
    terminal.out(`settings: ${file}\n`)
    if (genesisFile !== undefined) {
      const done = await runJob({ job: 'init', genesis: genesisFile, ...storage(home, settings) }, terminal)
      if (done === undefined) return STOPPED_EXIT
      terminal.out(`genesis: ${done.result.head?.hash}\n`)
    }
    return 0
  },
}
