// Following another node: recorded blocks of mainnet executed on their witnesses, beside a plain
// execution; blocks of the generated chain, beside an import of them with a state; and followers as
// processes (follow-nodes.mjs).
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ROOT } from '../../native/setup/env.mjs'
import { generatedChain, runExample } from './chain.mjs'
import { followNodesBench } from './follow-nodes.mjs'
import { losing } from './follow-process.mjs'
import { median, spread, table } from './stats.mjs'

/** Blocks grow from the least to the most transactions. */
const CHAIN = { blocks: 40, least: 200, most: 1400 }

/** Times that both sides take the chain, in turn. */
const ROUNDS = 5
const QUICK_ROUNDS = 2

/** Recorded blocks of mainnet. */
const FIXTURES = path.resolve(ROOT, process.env.HEARTH_FIXTURES ?? '../shared/fixtures', 'mainnet-blocks')

/** Executions of each recorded block a side. */
const RECORDED_ROUNDS = 31

/** From this block of mainnet on receipts have no state roots (Byzantium). */
const BYZANTIUM = 4_370_000

/**
 * The goals: seconds over those of a plain execution, without and with the state root, and over
 * those of an import; and stored bytes over received ones in percent.
 */
const WANTED = { capsule: 1.5, root: 2.5, import: 2.5, capsules: 2.5, rows: 5 }

/** Prints the tables. */
export async function followBench() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-follow-'))
  const rounds = process.argv.includes('--quick') ? QUICK_ROUNDS : ROUNDS
  try {
    await recorded(dir)
    await costs(dir, rounds)
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
  await followNodesBench()
}

const ratioOf = (ours, theirs) => ours.map((seconds, i) => seconds / theirs[i])
const kib = (bytes, blocks) => (bytes / 1024 / blocks).toFixed(1)

/** The numbers of an example of the chain's crate. */
async function measured(dir, name, args) {
  const out = path.join(dir, `${name}.json`)
  await runExample(name, args(out))
  return JSON.parse(fs.readFileSync(out, 'utf8'))
}

/** Blocks of mainnet by the nodes that were recorded with them. */
async function recorded(dir) {
  if (!fs.existsSync(FIXTURES)) {
    console.log(`skipped: ${FIXTURES} does not exist, so no recorded blocks are followed`)
    return
  }
  const manifest = JSON.parse(fs.readFileSync(path.join(FIXTURES, 'manifest.json'), 'utf8'))
  const files = manifest.filter(({ hasTrieNodes, number }) => hasTrieNodes && number >= BYZANTIUM)
  const paths = files.map(({ file }) => path.join(FIXTURES, `${file}.gz`))
  const facts = await measured(dir, 'follow_recorded', (out) => [out, RECORDED_ROUNDS, ...paths])
  const { blocks, gas, plain, follow, rooted, plainRooted, witnessBytes, tables } = facts
  const rate = (seconds) => spread(seconds.map((s) => gas / 1e6 / s))
  const [blockRows, receiptRows, capsules] = tables
  const share = (bytes) => (100 * bytes) / witnessBytes
  const [ofCapsules, ofRows] = [share(capsules), share(blockRows + receiptRows + capsules)]
  const [toCapsule, toRoot] = [ratioOf(follow, plain), ratioOf(rooted, plainRooted)]
  const most = (value, limit, unit = '') => `at most ${limit}${unit}${losing(value > limit)}`
  table(
    'follow',
    ['row', 'following', 'beside', 'ratio', 'target'],
    [
      [
        'from the text of a witness to the capsule, beside plain execution (Mgas/s)',
        rate(follow),
        rate(plain),
        `${spread(toCapsule, 2)} of the seconds`,
        most(median(toCapsule), WANTED.capsule),
      ],
      [
        'the same with the state root (ms of all)',
        spread(rooted.map((s) => s * 1000)),
        spread(plainRooted.map((s) => s * 1000)),
        `${spread(toRoot, 2)} of the seconds`,
        most(median(toRoot), WANTED.root),
      ],
      [
        'capsules beside witnesses (KiB a block)',
        kib(capsules, blocks),
        kib(witnessBytes, blocks),
        `${ofCapsules.toFixed(2)} %`,
        most(ofCapsules, WANTED.capsules, ' %'),
      ],
      [
        'blocks, receipts and capsules beside witnesses (KiB a block)',
        kib(blockRows + receiptRows + capsules, blocks),
        kib(witnessBytes, blocks),
        `${ofRows.toFixed(2)} %`,
        most(ofRows, WANTED.rows, ' %'),
      ],
    ],
    `${blocks} recorded blocks of mainnet, ${(gas / 1e6).toFixed(1)} Mgas`,
  )
}

/** Blocks of a generated chain by their witnesses, beside an import of them. */
async function costs(dir, rounds) {
  const { dir: chain } = await generatedChain(CHAIN)
  const facts = await measured(dir, 'follow_cost', (out) => [chain, out, rounds])
  const { blocks, gas, follow, making, nodeBytes, codeBytes, tables } = facts
  const rate = (seconds) => spread(seconds.map((s) => gas / 1e6 / s))
  const ratios = ratioOf(follow, facts.import)
  const stored = tables.reduce((sum, bytes) => sum + bytes, 0)
  const title = `${blocks} generated blocks of ${(gas / 1e6 / blocks).toFixed(1)} Mgas each, by witnesses of ${kib(nodeBytes, blocks)} KiB of nodes and ${kib(codeBytes, blocks)} KiB of code`
  table(
    'follow',
    ['row', 'following', 'import', 'ratio', 'target'],
    [
      [
        'every check and commit included (Mgas/s)',
        rate(follow),
        rate(facts.import),
        `${spread(ratios, 2)} of the seconds`,
        `at most ${WANTED.import}${losing(median(ratios) > WANTED.import)}`,
      ],
      ['witnesses made in turn with an import (blocks/s)', (blocks / making).toFixed(1), '', '', ''],
      ['blocks, receipts and capsules (KiB a block)', kib(stored, blocks), '', '', ''],
    ],
    title,
  )
}
