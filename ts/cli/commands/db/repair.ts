// hearth db repair: sets what is damaged aside and makes it again. No node may run on the home.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import type { BlockRecord, LedgerRepair, RepairReport } from '../../../core/db.ts'
import { startDbTask } from '../../../core/native.ts'
import { storage } from '../../../node/node-config.ts'
import { type Parsed, UsageError } from '../../args.ts'
import type { Command, Terminal } from '../../command.ts'
import { homeOf, settingsOf } from '../../home.ts'
import { finishJob, inputFile, STOPPED_EXIT } from '../job.ts'
import { rawBlocks } from './raw-blocks.ts'
import { DB_FLAGS, rowsLine } from './task.ts'

/** Exit code where something stays damaged. */
const BROKEN = 1

const DONE = {
  log_rewritten: 'the log was written again from the records that can be used',
  from_snapshot: 'the state was made from a snapshot and the log',
  from_log: 'the state was made from the log',
  from_ledger: 'the state was made by executing the ledger again',
} as const

const nameOf = ({ number, hash, what }: BlockRecord): string =>
  what === 'block' ? `block ${number} (${hash})` : `the receipts of block ${number} (${hash})`

function ledgerLines({ restored, broken, moreRestored, moreBroken }: LedgerRepair, home: string): string[] {
  const lines = restored.map((record) => `${nameOf(record)}: written again`)
  if (moreRestored > 0) lines.push(`${moreRestored} more records: written again`)
  for (const record of broken) lines.push(`${nameOf(record)}: still damaged: ${record.why}`)
  if (moreBroken > 0) lines.push(`${moreBroken} more records: still damaged`)
  if (broken.some(({ what }) => what === 'block'))
    lines.push(
      `run \`hearth db repair --home ${home} --from FILE\` with a file of RLP blocks that has these blocks, ` +
        'or --from URL of a node that answers debug_getRawBlock',
    )
  return lines
}

function text({ problems, findings, actions, lost, head, ledger, capsules }: RepairReport, home: string): string {
  const lines = [...problems, ...findings]
  for (const { action, aside, height } of actions) {
    const of = height === undefined ? '' : ` of height ${height}`
    lines.push(`${DONE[action]}${of === '' ? '' : ` (snapshot${of})`}; the damaged one is in ${aside}`)
  }
  if (lost !== null) lines.push(`blocks ${lost.from} to ${lost.to} were given up`)
  lines.push(...ledgerLines(ledger, home))
  const { made, left } = capsules
  if (made > 0) lines.push(`${made} trace capsules were made again`)
  if (left > 0) lines.push(`${left} blocks have no trace capsule that reads: they are traced from history, where that reaches`)
  if (actions.length === 0 && made === 0 && ledger.restored.length === 0 && ledger.broken.length === 0) lines.push('nothing to repair')
  lines.push(head === null ? 'the store is empty' : `head ${head.height} ${head.hash}`)
  return lines.map((line) => `${line}\n`).join('')
}

const isUrl = (from: string): boolean => /^https?:\/\//.test(from)

/**
 * Repairs with the blocks of files, and then with those of a node; undefined if a signal stopped
 * it.
 */
async function repaired(parsed: Parsed, terminal: Terminal, home: string): Promise<RepairReport | undefined> {
  const base = storage(home, settingsOf(parsed, home, terminal).settings)
  const given = parsed.lists.get('from') ?? []
  const urls = given.filter(isUrl)
  if (urls.length > 1) throw new UsageError('--from takes one URL')
  const from = given.filter((one) => !isUrl(one)).map((file) => inputFile(file, 'the block file'))
  const args = { acceptLoss: parsed.flags.has('yes'), from }
  const first = (await finishJob(startDbTask(base, 'repair', args), terminal, rowsLine))?.result
  const missing = first?.ledger.broken.filter(({ what }) => what === 'block') ?? []
  const [url] = urls
  if (first === undefined || url === undefined || missing.length === 0) return first
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-repair-'))
  try {
    const file = path.join(dir, 'blocks.rlp')
    await rawBlocks(url, missing, file)
    const done = await finishJob(startDbTask(base, 'restoreBlocks', { from: [file] }), terminal, rowsLine)
    if (done === undefined) return undefined
    const { restored, moreRestored, ...left } = done.result
    const { ledger } = first
    const again = { restored: [...ledger.restored, ...restored], moreRestored: ledger.moreRestored + moreRestored }
    return { ...first, ledger: { ...left, ...again } }
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

export const repair: Command = {
  name: 'repair',
  doc: 'Rebuild damaged state, blocks and receipts. The node must be stopped.',
  more: [
    'The state is verified first; a damaged store is moved aside, not deleted, and rebuilt from a',
    'snapshot, the log or the ledger. Receipts and trace capsules are rebuilt by executing blocks; a',
    'damaged block is taken from --from. Exit code 1 if damage remains.',
  ],
  flags: {
    ...DB_FLAGS,
    from: {
      value: 'FILE|URL',
      many: true,
      doc: 'Source of damaged blocks: files of RLP blocks (plain or gzip), or a node that answers debug_getRawBlock.',
    },
    yes: { doc: 'Give up blocks that cannot be recovered. Without it, they are listed and nothing changes.' },
  },
  async run(parsed, terminal) {
    const home = homeOf(parsed)
    const report = await repaired(parsed, terminal, home)
    if (report === undefined) return STOPPED_EXIT
    terminal.out(parsed.flags.has('json') ? `${JSON.stringify(report, null, 2)}\n` : text(report, home))
    return report.ledger.broken.length > 0 ? BROKEN : 0
  },
}
