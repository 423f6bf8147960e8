// hearth db prune: raises the floor of a table and removes the segments below it. No node may run
// on the home.
import type { Command } from '../../command.ts'
import { heightOf } from '../job.ts'
import { required, rootsOf, runTask, TABLE_FLAGS } from './task.ts'
import { bytesText } from './text.ts'

export const prune: Command = {
  name: 'prune',
  doc: 'Remove whole segments of a table below a height. The node must be stopped.',
  flags: {
    ...TABLE_FLAGS,
    table: { value: 'T', doc: 'The table.' },
    below: { value: 'HEIGHT', doc: 'Lowest height to keep. A height below the current floor changes nothing.' },
  },
  run: (parsed, terminal) =>
    runTask(
      parsed,
      terminal,
      'prune',
      { roots: rootsOf(parsed), table: required(parsed, 'table'), floor: heightOf(required(parsed, 'below'), 'below') },
      ({ table, floor, segmentsRemoved, bytesBefore, bytesAfter }) =>
        `${table}: the floor is ${floor}; ${segmentsRemoved} segments removed, ${bytesText(bytesBefore)} before, ${bytesText(bytesAfter)} after\n`,
    ),
}
