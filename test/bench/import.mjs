// Import speed: a generated chain, Hearth and `geth import` in interleaved pairs, and the recorded
// blocks of the fixtures.
//
// Both sides are timed as whole commands, process start to process end, on a fresh home, with a
// clean close.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ROOT } from '../../native/setup/env.mjs'
import { generatedChain } from './chain.mjs'
import { environment } from './process.mjs'
import { median, spread, table } from './stats.mjs'

/** Interleaved pairs; the order within a pair alternates, so that warmth favours neither side. */
const PAIRS = 5

/**
 * Blocks of the generated chain and transactions in each: long enough that process start is noise.
 */
const CHAIN = { blocks: 400, least: 150, most: 150 }

const HEARTH = [process.execPath, path.join(ROOT, 'dist/cli/hearth.cjs')]

function temp(name) {
  return fs.mkdtempSync(path.join(os.tmpdir(), `hearth-bench-${name}-`))
}

/** Gas of a chain file, as our import of it says. */
function gasOf(dir) {
  const home = temp('gas')
  try {
    const [command, ...args] = HEARTH
    const files = ['--genesis', path.join(dir, 'genesis.json'), path.join(dir, 'chain.rlp')]
    const { seconds, stdout } = timed(command, [...args, 'import', '--home', home, ...files])
    const rate = /([\d.]+) blocks\/s, ([\d.]+) Mgas\/s/.exec(stdout)
    const blocks = Number(/imported (\d+) blocks/.exec(stdout)?.[1])
    if (!rate || !blocks) throw new Error(`the import's last line is another one than before (${seconds} s): ${stdout}`)
    return { blocks, gas: (Number(rate[2]) / Number(rate[1])) * blocks * 1e6 }
  } finally {
    fs.rmSync(home, { recursive: true, force: true })
  }
}

/** Seconds that a command takes; throws with its output where it fails. */
function timed(command, args) {
  const began = process.hrtime.bigint()
  const r = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28, env: environment() })
  const seconds = Number(process.hrtime.bigint() - began) / 1e9
  if (r.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${r.status ?? r.signal}:\n${r.stderr?.slice(-2000)}`)
  return { seconds, stdout: r.stdout, stderr: r.stderr }
}

function ours(dir) {
  const home = temp('home')
  try {
    const [command, ...args] = HEARTH
    return timed(command, [...args, 'import', '--home', home, '--genesis', path.join(dir, 'genesis.json'), path.join(dir, 'chain.rlp')])
      .seconds
  } finally {
    fs.rmSync(home, { recursive: true, force: true })
  }
}

function theirs(dir) {
  const home = temp('geth')
  try {
    timed('geth', ['init', '--datadir', home, path.join(dir, 'genesis.json')])
    return timed('geth', ['import', '--datadir', home, '--nocompaction', path.join(dir, 'chain.rlp')]).seconds
  } finally {
    fs.rmSync(home, { recursive: true, force: true })
  }
}

function compare(name, dir, facts) {
  const geth = spawnSync('geth', ['version']).status === 0
  const have = []
  const want = []
  for (let i = 0; i < PAIRS; i++) {
    const sides = [() => have.push(ours(dir)), () => geth && want.push(theirs(dir))]
    for (const side of i % 2 ? sides.reverse() : sides) side()
  }
  const speed = (seconds) => [seconds.map((s) => facts.gas / 1e6 / s), seconds.map((s) => facts.blocks / s)]
  const [ourGas, ourBlocks] = speed(have)
  const rows = [[name, 'hearth', spread(ourGas), spread(ourBlocks), '']]
  if (geth) {
    const ratios = have.map((s, i) => want[i] / s)
    const [gas, blocks] = speed(want)
    rows.push([name, 'geth', spread(gas), spread(blocks), ''])
    rows.push([name, 'ratio', '', '', `${spread(ratios, 2)}${median(ratios) < 1.5 ? '  below the target of 1.5' : ''}`])
  } else console.log('skipped: geth is not on the PATH, so nothing to compare with')
  return rows
}

/** Recorded blocks have no peer: go-ethereum cannot import a block on a partial state. */
function recorded() {
  const fixtures = path.resolve(ROOT, process.env.HEARTH_FIXTURES ?? '../shared/fixtures', 'mainnet-blocks')
  if (!fs.existsSync(fixtures)) {
    console.log(`skipped: mainnet-blocks is not in ${path.dirname(fixtures)}`)
    return []
  }
  const rates = []
  let slowest = { rate: Number.POSITIVE_INFINITY, name: '' }
  for (const file of fs.readdirSync(fixtures).filter((n) => n.endsWith('.json.gz'))) {
    const home = temp('case')
    const [command, ...args] = HEARTH
    const { stdout } = timed(command, [...args, 'import', '--home', home, '--case', path.join(fixtures, file)])
    const rate = Number(/executed in [\d.]+ ms \(([\d.]+) Mgas\/s\)/.exec(stdout)?.[1] ?? Number.NaN)
    fs.rmSync(home, { recursive: true, force: true })
    if (!Number.isFinite(rate)) continue
    rates.push(rate)
    if (rate < slowest.rate) slowest = { rate, name: file }
  }
  return rates.length ? [[`${rates.length} recorded blocks, execution alone`, 'hearth', spread(rates), '', `slowest ${slowest.name}`]] : []
}

/** The bench behind `npm run bench -- import`. */
export async function importBench() {
  const chain = await generatedChain(CHAIN)
  const rows = compare(`generated, ${chain.blocks} blocks, ${chain.transactions} transactions`, chain.dir, chain)
  const compat = path.resolve(ROOT, process.env.HEARTH_FIXTURES ?? '../shared/fixtures', 'rpc-compat')
  if (fs.existsSync(compat)) rows.push(...compare('execution-apis chain, 54 blocks (process start dominates)', compat, gasOf(compat)))
  rows.push(...recorded())
  table('import', ['chain', 'side', 'Mgas/s', 'blocks/s', 'ratio, theirs over ours'], rows)
}
