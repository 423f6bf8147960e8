// Trace capsules: block traces on one processor and on all, compared with geth; the first, middle
// and last transaction of a block; blocks far below the head; and the cost of capsules for an
// import. `node test/bench/bake/capsules.mjs [mixed] [equal] [depth] [cost]` runs only some of
// these.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain, runExample } from '../chain.mjs'
import { freePort, importChain, run, serveHearth, started } from '../process.mjs'
import { ask, canonical, result } from '../rpc.mjs'
import { median, spread, table } from '../stats.mjs'
import { nodeExample, reportOf, writeConfig } from './program.mjs'

/** The chain whose last block is traced: 1,400 mixed transactions. */
const MIXED = { blocks: 24, least: 200, most: 1400 }

/** The chain of 1,000 equal calls of 30,000 gas a block. */
const EQUAL = { blocks: 2, least: 1000, most: 1000, equal: true }

/** The long chain, and how far below its head blocks are traced. */
const LONG = { blocks: 100_000, least: 2, most: 2 }
const DEPTHS = [100, 1000, 10_000, 99_000]

/** Blocks traced at each depth, each once, so that none of them is in a cache. */
const DEPTH_BLOCKS = 200

/**
 * The chain that is imported with and without capsules, and how many of its blocks one side imports
 * in one turn: about a tenth of a second, since other programs of a host change the speed of its
 * processors from second to second.
 */
const COST = { blocks: 10_000, least: 20, most: 20 }
const COST_STEP = 20

/** Interleaved rounds of a row. */
const ROUNDS = 15

const CONFIG = { tracer: 'callTracer', timeout: '300s' }

const temp = () => fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-capsules-'))

/** Imports a chain into two homes that are the same. */
function homes(chain) {
  const [first, second] = [temp(), temp()]
  importChain(first, chain)
  fs.cpSync(first, second, { recursive: true })
  return [first, second]
}

async function geth(chain, home) {
  if (spawnSync('geth', ['version']).status !== 0) return undefined
  const archive = ['--datadir', home, '--state.scheme', 'hash', '--gcmode', 'archive']
  run('geth', ['init', '--datadir', home, '--state.scheme', 'hash', path.join(chain.dir, 'genesis.json')])
  run('geth', ['import', ...archive, '--nocompaction', path.join(chain.dir, 'chain.rlp')])
  const [port, auth] = [await freePort(), await freePort()]
  const quiet = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--authrpc.port', String(auth)]
  return started('geth', [...archive, ...quiet, '--http', '--http.port', String(port), '--http.api', 'eth,debug'], port)
}

/** Milliseconds of each side, measured in turns after one answer each that is not counted. */
async function rounds(sides, ask, count = ROUNDS) {
  const times = sides.map(() => [])
  for (const side of sides) await ask(side)
  for (let i = 0; i < count; i++) {
    const order = sides.map((_, at) => (i % 2 ? sides.length - 1 - at : at))
    for (const at of order) times[at].push((await ask(sides[at])).ms)
  }
  return times
}

/** How often as fast the second is as the first, round by round; `wanted` is the least. */
function ratio(slow, fast, wanted) {
  const ratios = slow.map((ms, i) => ms / fast[i])
  return `${spread(ratios, 2)}${median(ratios) < wanted ? `  LOSING, ${wanted} wanted` : ''}`
}

/**
 * The block on one processor, on all, and two traces of it at once on one each, within a separate
 * process: no server and no client takes time.
 */
async function processors(homes, height) {
  // The first home also runs two traces at once.
  const apart = { 'evm.enable_parallelized_block_trace': 'false', 'evm.max_concurrent_trace_calls': '2' }
  const [one, all] = homes.map((home, i) => writeConfig(home, i === 0 ? apart : {}))
  const { first, second, two } = reportOf(await nodeExample('block_traces'), [one, all, height, ROUNDS, CONFIG.tracer])
  for (const file of [one, all]) fs.rmSync(file)
  return [first, second, two]
}

async function blockRows(label, chain) {
  const [one, all] = homes(chain)
  const theirs = temp()
  const [alone, together, two] = await processors([one, all], chain.blocks)
  const sides = [
    await serveHearth(one, ['--evm.enable_parallelized_block_trace=false']),
    await serveHearth(all),
    await serveHearthFrom(one, 'history'),
  ]
  const peer = await geth(chain, theirs)
  try {
    const tag = `0x${chain.blocks.toString(16)}`
    const block = await result(sides[0].url, 'eth_getBlockByNumber', [tag, false])
    const size = `${block.transactions.length} ${label}, ${(Number(block.gasUsed) / 1e6).toFixed(0)} Mgas`
    const everyone = peer ? [...sides, peer] : sides
    const answers = []
    for (const side of everyone) answers.push(canonical(await result(side.url, 'debug_traceBlockByNumber', [tag, CONFIG])))
    const equal = answers.every((answer) => answer === answers[0]) ? 'equal' : 'DIFFERENT'
    const [serial, parallel, history, geths] = await rounds(everyone, (side) => ask(side.url, 'debug_traceBlockByNumber', [tag, CONFIG]))
    const count = os.availableParallelism()
    const rows = [
      [`block of ${size}, one processor (ms)`, spread(serial), spread(history), 'history', ratio(history, serial, 0), equal],
      [
        `the same, ${count} processors, over HTTP (ms)`,
        spread(parallel),
        spread(serial),
        'one processor',
        ratio(serial, parallel, 0),
        equal,
      ],
      [`the same, ${count} processors, in process (ms)`, spread(together), spread(alone), 'one processor', ratio(alone, together, 1.7), ''],
      [
        'two such traces at once, each on one processor (ms)',
        spread(two),
        spread(alone),
        'one of them alone',
        // The gain of this machine's second processor for work that shares nothing: no block trace
        // can gain more.
        `${spread(
          alone.map((ms, i) => (2 * ms) / two[i]),
          2,
        )} times the work`,
        '',
      ],
    ]
    if (geths) rows.push([`the same (ms)`, spread(parallel), spread(geths), 'geth', ratio(geths, parallel, 4), equal])
    const places = [0, block.transactions.length >> 1, block.transactions.length - 1]
    const single = (side, at) => ask(side.url, 'debug_traceTransaction', [block.transactions[at], CONFIG])
    const [first, middle, last] = await rounds(places, (at) => single(sides[0], at), 101)
    const [firstSlow, middleSlow, lastSlow] = await rounds(places, (at) => single(sides[2], at), ROUNDS)
    rows.push(
      ['its first transaction (ms)', spread(first, 2), spread(firstSlow, 2), 'history', ratio(firstSlow, first, 0), ''],
      ['its middle transaction (ms)', spread(middle, 2), spread(middleSlow, 2), 'history', ratio(middleSlow, middle, 0), ''],
      ['its last transaction (ms)', spread(last, 2), spread(lastSlow, 2), 'history', ratio(lastSlow, last, 0), ''],
    )
    const slower = median(last) / median(first)
    rows.push(['last over first', slower.toFixed(2), '', '', slower > 1.5 ? 'LOSING, 1.5 at most wanted' : '', ''])
    return rows
  } finally {
    for (const side of sides) await side.stop()
    await peer?.stop()
    for (const home of [one, all, theirs]) fs.rmSync(home, { recursive: true, force: true })
    fs.rmSync(`${one}-history`, { recursive: true, force: true })
  }
}

/** A node on a copy of a home. */
async function serveHearthFrom(home, source) {
  const copy = `${home}-${source}`
  if (!fs.existsSync(copy)) fs.cpSync(home, copy, { recursive: true })
  return serveHearth(copy, [`--evm.trace_source=${source}`])
}

async function depthRows() {
  const chain = await generatedChain(LONG)
  const home = temp()
  importChain(home, chain)
  const node = await serveHearth(home, ['--evm.trace_source=capsule'])
  try {
    const times = DEPTHS.map(() => [])
    for (let i = 0; i < DEPTH_BLOCKS; i++)
      for (const [at, depth] of DEPTHS.entries()) {
        const number = LONG.blocks - depth - 3 * i - 1
        const tag = `0x${(number > 0 ? number : i + 1).toString(16)}`
        times[at].push((await ask(node.url, 'debug_traceBlockByNumber', [tag, CONFIG])).ms)
      }
    return DEPTHS.map((depth, at) => {
      const over = median(times[at]) / median(times[0])
      const losing = over > 1.2 ? '  LOSING, 1.2 at most wanted' : ''
      return [
        `block of 2 transactions, ${depth} below the head (ms)`,
        spread(times[at], 2),
        spread(times[0], 2),
        `depth ${DEPTHS[0]}`,
        `${over.toFixed(2)}${losing}`,
        '',
      ]
    })
  } finally {
    await node.stop()
    fs.rmSync(home, { recursive: true, force: true })
  }
}

async function costRows() {
  const chain = await generatedChain(COST)
  const out = path.join(temp(), 'cost.json')
  await runExample('capsule_cost', [chain.dir, out, COST_STEP])
  const { with: having, without, again, bytes, transactions, gas, blocks } = JSON.parse(fs.readFileSync(out, 'utf8'))
  fs.rmSync(path.dirname(out), { recursive: true, force: true })
  const [a, b, c] = [having, without, again].map((seconds) => seconds.reduce((sum, step) => sum + step, 0))
  const cost = ((2 * a) / (b + c) - 1) * 100
  const same = (Math.max(b, c) / Math.min(b, c) - 1) * 100
  return [
    [
      `CPU of importing ${blocks} blocks (s)`,
      a.toFixed(2),
      `${b.toFixed(2)}, ${c.toFixed(2)}`,
      'no capsules, twice',
      `${cost.toFixed(1)} % (A/A ${same.toFixed(1)} %)${cost > 3 ? '  LOSING, 3 % wanted' : ''}`,
      '',
    ],
    [
      'capsule bytes on disk',
      `${(bytes / transactions).toFixed(0)} a transaction`,
      `${((bytes * 1000) / gas).toFixed(1)} a thousand gas`,
      '',
      '',
      '',
    ],
  ]
}

const HEADING = ['row', 'hearth', 'beside', 'what', 'ratio', 'answers']

const PARTS = {
  mixed: async () => blockRows('mixed transactions', await generatedChain(MIXED)),
  equal: async () => blockRows('equal calls', await generatedChain(EQUAL)),
  depth: depthRows,
  cost: costRows,
}

/** The part of `npm run bench -- bake` that is about capsules. */
export async function capsulesBench(parts = Object.keys(PARTS)) {
  for (const part of parts) table('bake', HEADING, await PARTS[part](), `capsules: ${part}`)
}

if (process.argv[1] === import.meta.filename) {
  const parts = process.argv.slice(2)
  await capsulesBench(parts.length ? parts : undefined)
}
