// hearth db import: makes a new home from the stream that hearth db export wrote.
import type { Command } from '../../command.ts'
import { addSettingsFile, homeOf } from '../../home.ts'
import { inputFile } from '../job.ts'
import { DB_FLAGS, runTask } from './task.ts'

export const importState: Command = {
  name: 'import',
  doc: 'Make a new data directory from a file of `hearth db export`. The whole file is checked first.',
  flags: DB_FLAGS,
  files: { name: 'FILE', min: 1, max: 1 },
  run: (parsed, terminal) =>
    runTask(
      parsed,
      terminal,
      'importState',
      { file: inputFile(parsed.files[0] as string, 'the stream') },
      ({ head, rows }) => `imported height ${head.height} (${head.hash}): ${rows.accounts} accounts, ${rows.slots} slots\n`,
    ).finally(() => addSettingsFile(homeOf(parsed))),
}
