// hearth db verify: computes everything again that derives from the state. While the node is
// running it reads the newest snapshot.
import type { VerifyReport } from '../../../core/db.ts'
import type { Command } from '../../command.ts'
import { DB_FLAGS, rowsLine, runTask } from './task.ts'
import { besideNode, moreText } from './text.ts'

/** What commits to a state, by kind. */
const COMMITMENTS = { mpt: 'state root', lthash: 'lattice hash of the state' } as const

/** Exit code where something is wrong. */
const DAMAGED = 1

function text({ head, commitment, snapshot, rows, found, findings }: VerifyReport): string {
  const root =
    commitment === 'none'
      ? 'this chain has no state root to compare with'
      : `${COMMITMENTS[commitment]} ${head.commitment}, computed from every row`
  const state = `${rows.accounts} accounts, ${rows.slots} slots, ${rows.codes} codes, ${rows.history} rows of history, ${rows.trieNodes} trie nodes`
  const ledger = `${rows.blocks} blocks, ${rows.transactions} transactions; address index of ${rows.indexedBlocks} blocks`
  const verdict = found === 0 ? 'sound' : found === 1 ? '1 problem' : `${found} problems`
  const lines = findings.map(({ name, text }) => `${name}: ${text}`)
  const repairs = [...new Set(findings.flatMap(({ repair }) => (repair === null ? [] : [repair])))]
  return `${besideNode(snapshot)}height ${head.height}: ${verdict}\n${root}\n${state}\n${ledger}\n${[...lines, ...moreText(found, findings.length), ...repairs.map((command) => `to repair it, stop the node and run: ${command}`)].map((line) => `${line}\n`).join('')}`
}

export const verify: Command = {
  name: 'verify',
  doc: 'Recompute the state root from every row, and compare state, history, code, trie and ledger.',
  more: ['Beside a running node its newest snapshot is verified. Exit code 1 where something is wrong.'],
  flags: DB_FLAGS,
  run: (parsed, terminal) => runTask(parsed, terminal, 'verify', {}, text, ({ found }) => (found > 0 ? DAMAGED : 0), rowsLine),
}
