// hearth db info: what the stores of a home have. Works beside a running node.
import type { StateInfo } from '../../../core/db.ts'
import type { Command } from '../../command.ts'
import { DB_FLAGS, runTask } from './task.ts'
import { besideNode, bytesText, columns, pairs } from './text.ts'

function text(info: StateInfo): string {
  const { head, bytes, snapshots } = info
  const rows: (readonly [string, string | number])[] = [
    ['home', info.home],
    ['format', info.format ?? 'none'],
    ['head', head === null ? 'none' : `${head.height} ${head.hash}`],
    ['state root', head?.commitment ?? 'none'],
    ['oldest state', info.oldestState ?? 'none'],
    ['oldest block', info.oldestBlock],
    ['state', bytesText(bytes.state)],
    ['snapshots', bytesText(bytes.snapshots)],
    ['log', bytesText(bytes.wal)],
    ['ledger', bytesText(bytes.ledger)],
  ]
  const heights = snapshots.map(({ height, oldest, hash }) => [height, oldest, hash])
  const list = snapshots.length === 0 ? 'no snapshots\n' : columns(['snapshot', 'oldest', 'hash'], heights)
  return `${besideNode(info.snapshot)}${pairs(rows)}${list}`
}

export const info: Command = {
  name: 'info',
  doc: 'Print the heights, snapshots and sizes of the stores. While a node runs: of its newest snapshot.',
  flags: DB_FLAGS,
  run: (parsed, terminal) => runTask(parsed, terminal, 'info', {}, text),
}
