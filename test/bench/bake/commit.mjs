// The cost of baking for commits: blocks of 1,000 transactions, one every 400 ms and without pause,
// with baking and without, in turns within one process. `node test/bench/bake/commit.mjs` runs only
// this bench.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from '../chain.mjs'
import { table } from '../stats.mjs'
import { nodeExample, reportOf, writeConfig } from './program.mjs'

/** Time from one block to the next, in milliseconds. */
const PACE_MS = 400

/**
 * Pairs of turns, ABBA, and blocks of a turn: enough that the slowest hundredth of either side is
 * several blocks.
 */
const PAIRS = 20
const TURN_BLOCKS = 12

/** The bound of the slowest hundredth of commits with baking, as a multiple of that without. */
const WANTED = 1.05

const CHAIN = { blocks: PAIRS * TURN_BLOCKS, least: 1000, most: 1000 }

const ALL = 'callTracer,prestateTracer,flatCallTracer'

/** The value below which a share of a list lies. */
function quantile(list, share) {
  const sorted = [...list].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)]
}

/** Commits the chain on two fresh homes; milliseconds of each commit, with baking and without. */
function commit(bin, chain, tracers, pace) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-commit-'))
  try {
    const on = writeConfig(path.join(dir, 'on'), { 'evm.trace_bake_enabled': 'true', 'evm.trace_bake_tracers': tracers })
    const off = writeConfig(path.join(dir, 'off'))
    return reportOf(bin, [on, off, path.join(chain.dir, 'genesis.json'), path.join(chain.dir, 'chain.rlp'), pace, PAIRS, TURN_BLOCKS])
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

function row(name, { on, off, baked, dropped, failed }, wanted) {
  const ms = (list, share) => quantile(list, share).toFixed(1)
  const ratio = quantile(on, 0.99) / quantile(off, 0.99)
  const losing = wanted !== undefined && ratio > wanted ? `  LOSING, at most ${wanted} wanted` : ''
  const both = (list) => `${ms(list, 0.5)} / ${ms(list, 0.99)}`
  return [name, both(on), both(off), `${ratio.toFixed(3)}${losing}`, `${baked} baked, ${dropped} dropped, ${failed} failed`]
}

/** The rows of commits. */
export async function commitTable() {
  const [bin, chain] = [await nodeExample('bake_commit'), await generatedChain(CHAIN)]
  const size = `${CHAIN.blocks} blocks of ${CHAIN.least} transactions`
  const rows = [
    row(`${size}, one every ${PACE_MS} ms, callTracer`, commit(bin, chain, 'callTracer', PACE_MS), WANTED),
    row(`${size}, back to back, callTracer`, commit(bin, chain, 'callTracer', 0)),
    row(`${size}, back to back, three tracers`, commit(bin, chain, ALL, 0)),
  ]
  table('bake-commit', ['row', 'baking: p50 / p99 (ms)', 'not baking: p50 / p99 (ms)', 'p99, baking over not', 'blocks'], rows)
}

if (process.argv[1] === import.meta.filename) await commitTable()
