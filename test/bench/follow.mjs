// Following another node: blocks of the generated chain executed on their witnesses, beside an
// import of the same blocks with a state.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain, runExample } from './chain.mjs'
import { followNodesBench } from './follow-nodes.mjs'
import { median, spread, table } from './stats.mjs'

/** Blocks grow from the least to the most transactions. */
const CHAIN = { blocks: 40, least: 200, most: 1400 }

/** Times that both sides take the chain, in turn. */
const ROUNDS = 5
const QUICK_ROUNDS = 2

/** The goals: seconds over those of an import, and stored bytes over received ones in percent. */
const WANTED = { seconds: 2.5, capsules: 2.5, rows: 5 }

const losing = (value, limit) => (value <= limit ? '' : '  LOSING')

/** Prints the tables. */
export async function followBench() {
  await costs()
  await followNodesBench()
}

/** Execution on witnesses beside an import. */
async function costs() {
  const rounds = process.argv.includes('--quick') ? QUICK_ROUNDS : ROUNDS
  const { dir: chain } = await generatedChain(CHAIN)
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-follow-'))
  try {
    const out = path.join(dir, 'measured.json')
    await runExample('follow_cost', [chain, out, rounds])
    const { blocks, gas, follow, making, nodeBytes, codeBytes, tables, ...rest } = JSON.parse(fs.readFileSync(out, 'utf8'))
    const rate = (seconds) => spread(seconds.map((s) => gas / 1e6 / s))
    const ratios = follow.map((seconds, i) => seconds / rest.import[i])
    const [blockRows, receiptRows, capsules] = tables
    const share = (bytes) => (100 * bytes) / nodeBytes
    const [ofCapsules, ofRows] = [share(capsules), share(blockRows + receiptRows + capsules)]
    const kib = (bytes) => (bytes / 1024 / blocks).toFixed(1)
    const title = `${blocks} blocks of ${(gas / 1e6 / blocks).toFixed(1)} Mgas each, by witnesses of ${kib(nodeBytes)} KiB of nodes and ${kib(codeBytes)} KiB of code`
    table(
      'follow',
      ['row', 'following', 'import', 'ratio', 'target'],
      [
        [
          'Mgas/s, every check and commit included',
          rate(follow),
          rate(rest.import),
          `${spread(ratios, 2)} of the seconds`,
          `at most ${WANTED.seconds}${losing(median(ratios), WANTED.seconds)}`,
        ],
        ['witnesses made, blocks/s', (blocks / making).toFixed(1), '-', '-', '-'],
        [
          'capsules, KiB a block',
          kib(capsules),
          '-',
          `${ofCapsules.toFixed(2)} % of the nodes`,
          `at most ${WANTED.capsules} %${losing(ofCapsules, WANTED.capsules)}`,
        ],
        [
          'all rows, KiB a block',
          kib(blockRows + receiptRows + capsules),
          '-',
          `${ofRows.toFixed(2)} % of the nodes`,
          `at most ${WANTED.rows} %${losing(ofRows, WANTED.rows)}`,
        ],
      ],
      title,
    )
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
