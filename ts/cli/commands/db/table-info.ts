// hearth db table-info: prints the contents of each table, also while the node is running.
import type { TableInfo } from '../../../core/db.ts'
import type { Command } from '../../command.ts'
import { rootsOf, runTask, TABLE_FLAGS, tableOf } from './task.ts'
import { bytesText, pairs } from './text.ts'

const heights = ({ lowest, highest }: TableInfo): string => (lowest === null ? 'none' : `${lowest} to ${highest}`)

const infoText = (info: TableInfo): string =>
  pairs([
    ['table', info.name],
    ['shards', info.shards],
    ['segments', `${info.segments} (${info.openSegments} open)`],
    ['key indexes', `${info.keyIndexes}, ${bytesText(info.indexMemoryBytes)} in memory`],
    ['records', info.records],
    ['keys', info.keys],
    ['values', bytesText(info.valueBytes)],
    ['files', bytesText(info.fileBytes)],
    ['heights', heights(info)],
    ['floor', info.floor],
  ])

export const tableInfo: Command = {
  name: 'table-info',
  doc: 'Print segments, keys, sizes and heights of the tables, also while a node runs.',
  flags: { ...TABLE_FLAGS, table: { value: 'T', doc: 'The table. Default: every table.' } },
  files: { name: '[TABLE]', min: 0, max: 1 },
  run: (parsed, terminal) =>
    runTask(parsed, terminal, 'tableInfo', { roots: rootsOf(parsed), table: tableOf(parsed) }, (infos) => infos.map(infoText).join('\n')),
}
