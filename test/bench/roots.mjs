// The cost of state roots for an import: the chain of the home bench is written into two stores in
// turns, with every root and without any.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { runExample } from './chain.mjs'
import { homeChain } from './home.mjs'
import { median, spread, table } from './stats.mjs'

/** Pairs, and blocks of one import. */
const AMOUNTS = { pairs: 10, blocks: 100 }
const QUICK_AMOUNTS = { pairs: 2, blocks: 20 }

/** Prints the table. */
export async function rootsBench() {
  const { pairs, blocks } = process.argv.includes('--quick') ? QUICK_AMOUNTS : AMOUNTS
  const chain = await homeChain()
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-roots-'))
  try {
    const out = path.join(dir, 'times.json')
    await runExample('roots_cost', [chain.dir, out, pairs, blocks])
    const { with: having, without } = JSON.parse(fs.readFileSync(out, 'utf8'))
    const ratios = having.seconds.map((seconds, i) => seconds / without.seconds[i])
    const sum = (values) => values.reduce((a, b) => a + b, 0).toFixed(1)
    const rate = ({ seconds }) =>
      spread(
        seconds.map((s) => blocks / s),
        0,
      )
    const title = `imports of ${pairs} times ${blocks} blocks with every state root, and without any`
    const row = [
      'blocks/s',
      rate(having),
      rate(without),
      spread(ratios, 2),
      sum(having.cpu),
      sum(without.cpu),
      `at most 1.4 times the seconds${median(ratios) <= 1.4 ? '' : '  LOSING'}`,
    ]
    table('flatkv', ['row', 'with roots', 'without', 'seconds with over without', 'CPU s, with', 'CPU s, without', 'target'], [row], title)
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
