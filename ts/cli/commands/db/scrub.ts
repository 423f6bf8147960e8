// hearth db scrub: reads every byte of the tables and checks every checksum, also while the node is
// running.
import type { ScrubReport } from '../../../core/db.ts'
import type { Command } from '../../command.ts'
import { rootsOf, runTask, TABLE_FLAGS, tableOf } from './task.ts'
import { bytesText } from './text.ts'

/** Exit code where something is damaged. */
const DAMAGED = 1

function reportText({ table, segments, records, indexPages, bytes, damaged, replaced, damage }: ScrubReport): string {
  const read = `${segments} segments, ${records} records, ${indexPages} pages of key indexes, ${bytesText(bytes)}`
  const more = damaged > damage.length ? [`… and ${damaged - damage.length} more`] : []
  const verdict = damaged === 0 ? 'sound' : damaged === 1 ? '1 damaged place' : `${damaged} damaged places`
  const again =
    replaced === 0 ? [] : [`${replaced === 1 ? '1 damaged record was' : `${replaced} damaged records were`} written again elsewhere`]
  return [`${table}: ${verdict} (${read})`, ...damage, ...more, ...again, ''].join('\n')
}

export const scrub: Command = {
  name: 'scrub',
  doc: 'Check every checksum of the tables, also while a node runs. Exit code 1 if one is wrong.',
  flags: { ...TABLE_FLAGS, table: { value: 'T', doc: 'The table. Default: every table.' } },
  files: { name: '[TABLE]', min: 0, max: 1 },
  run: (parsed, terminal) =>
    runTask(
      parsed,
      terminal,
      'scrub',
      { roots: rootsOf(parsed), table: tableOf(parsed) },
      (reports) => reports.map(reportText).join(''),
      (reports) => (reports.some(({ damaged }) => damaged > 0) ? DAMAGED : 0),
    ),
}
