// The log index: eth_getLogs with a hundred hits each over a million blocks and over a thousand,
// written by a seeded generator through the ledger. The homes are written from scratch each time
// and removed at the end.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { cargo } from '../../native/setup/cargo.mjs'
import { TARGET } from '../../native/setup/env.mjs'
import { HEARTH, serveHearth } from './process.mjs'
import { ask, result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

/** Blocks of the two chains; the larger one may be set for a quick look. */
const LARGE = Number(process.env.HEARTH_TEST_LOG_BLOCKS ?? 1_000_000)
const SMALL = 1000

/** Every run writes the same chains. */
const SEED = 7

/** Small, so that the large chain has more than a hundred segments. */
const SEGMENT_BYTES = 4 * 1024 * 1024
const SEGMENTS_MIN = 100

/** Logs that each question has as its answer. */
const HITS = 100

/** Planted sets for cold queries, and those for warm ones; none is queried twice. */
const COLD = 4
const WARM = 16

/** How many times as long the large chain may take. */
const RATIO_MAX = 3

/** How long the merge of the last pages may take, in milliseconds. */
const MERGE_MS = 120_000

const hex = (n) => `0x${n.toString(16)}`

/** Writes a home; gives what is planted in it. */
function generate(home, blocks) {
  const generator = path.join(TARGET, 'release/examples/generate_logs')
  const r = spawnSync(generator, [home, blocks, SEED, SEGMENT_BYTES].map(String), {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (r.status !== 0) throw new Error(`${generator} ended with ${r.status ?? r.signal}`)
  return JSON.parse(r.stdout)
}

/**
 * The queries: a name, and the filter that finds a planted set.
 *
 * @type {[name: string, filter: (planted: Record<string, any>, set: number) => object][]}
 */
const QUESTIONS = [
  ['by address', ({ addresses }, set) => ({ address: addresses[set] })],
  ['by topic', ({ topics }, set) => ({ topics: [topics[set]] })],
  ['by a rare address and a topic in 90 % of blocks', ({ pairs, common }, set) => ({ address: pairs[set], topics: [common] })],
]

/** Bytes that a process had read from disks so far; undefined where the system does not say. */
function diskBytes(pid) {
  try {
    return Number(/^read_bytes: (\d+)/m.exec(fs.readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])
  } catch {
    return undefined
  }
}

/** Makes the kernel drop the pages of every file of a home. */
function forgetPages(dir) {
  for (const entry of fs.readdirSync(dir, { withFileTypes: true, recursive: true })) {
    const file = path.join(entry.parentPath ?? entry.path, entry.name)
    // dd(1): a count of 0 with nocache drops what is cached of the whole file.
    if (entry.isFile()) spawnSync('dd', [`of=${file}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'status=none'])
  }
}

const filterOf = (chain, question, set) => ({ fromBlock: '0x1', toBlock: hex(chain.blocks), ...QUESTIONS[question][1](chain.planted, set) })

/** Milliseconds of one question over the whole of a chain. */
const timed = async (chain, question, set) => (await ask(chain.node.url, 'eth_getLogs', [filterOf(chain, question, set)])).ms

/**
 * Waits until all blocks that are deep enough are merged: until a query over all blocks reads only
 * as many of them as it has hits.
 */
async function settle(chain) {
  for (const until = Date.now() + MERGE_MS; Date.now() < until; ) {
    if ((await timed(chain, 0, COLD + WARM)) < 1000) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  throw new Error(`the index of ${chain.blocks} blocks was not merged in ${MERGE_MS} ms`)
}

async function checkAnswers(chain) {
  for (const [question, [name]] of QUESTIONS.entries()) {
    const logs = await result(chain.node.url, 'eth_getLogs', [filterOf(chain, question, COLD + WARM)])
    const blocks = new Set(logs.map((log) => log.blockNumber))
    if (logs.length !== HITS || blocks.size !== HITS) throw new Error(`${name}: ${logs.length} logs of ${blocks.size} blocks, not ${HITS}`)
  }
}

/** Queries both chains in turns; returns the times of each. */
async function inTurn(chains, question, sets) {
  const times = chains.map(() => [])
  for (const [n, set] of sets.entries()) {
    const order = n % 2 === 0 ? [0, 1] : [1, 0]
    for (const at of order) times[at].push(await timed(chains[at], question, set))
  }
  return times
}

function row(name, [small, large]) {
  const ratio = median(large) / median(small)
  return [name, spread(small, 2), spread(large, 2), ratio.toFixed(2), `at most ${RATIO_MAX}${ratio <= RATIO_MAX ? '' : '  MISSED'}`]
}

/** Opens nodes on the chains, with settings for questions over any range. */
async function serve(chains) {
  for (const chain of chains) chain.node = await serveHearth(chain.home, ['--evm.max_blocks_for_log=0'])
}

const stop = (chains) => Promise.all(chains.map(({ node }) => node?.stop()))

/** What `hearth db` says of a home, as JSON. */
function db(home, ...args) {
  const began = Date.now()
  const r = spawnSync(process.execPath, [HEARTH, 'db', ...args, '--home', home, '--json'], { encoding: 'utf8' })
  if (r.status !== 0) throw new Error(`hearth db ${args.join(' ')} ended with ${r.status ?? r.signal}:\n${r.stderr}`)
  return { report: JSON.parse(r.stdout), seconds: (Date.now() - began) / 1000 }
}

function showTables(home) {
  const infos = db(home, 'table-info')
  const scrubs = db(home, 'scrub')
  const rows = infos.report.map(({ name, segments, records, fileBytes }, i) => {
    const { damaged, bytes } = scrubs.report[i]
    return [name, segments, records, (fileBytes / 2 ** 20).toFixed(0), (bytes / 2 ** 20).toFixed(0), damaged]
  })
  const heading = ['table', 'segments', 'records', 'files MiB', 'scrubbed MiB', 'damaged places']
  table('logs', heading, rows, `hearth db table-info (${infos.seconds.toFixed(1)} s) and scrub (${scrubs.seconds.toFixed(1)} s)`)
  const segments = infos.report.reduce((sum, info) => sum + info.segments, 0)
  if (LARGE >= 1_000_000 && segments < SEGMENTS_MIN) throw new Error(`${segments} segments, not ${SEGMENTS_MIN}`)
}

/** Prints the tables. */
export async function logsBench() {
  if ((await cargo(['build', '--release', '-p', 'hearth-chain', '--example', 'generate_logs'])) !== 0)
    throw new Error('the generator was not built')
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-logs-'))
  /** @type {{ blocks: number, home: string, planted?: object }[]} */
  const chains = [SMALL, LARGE].map((blocks) => ({ blocks, home: path.join(dir, String(blocks)) }))
  try {
    for (const chain of chains) {
      const began = Date.now()
      chain.planted = generate(chain.home, chain.blocks)
      console.log(`${chain.blocks} blocks written in ${((Date.now() - began) / 1000).toFixed(1)} s`)
    }
    await serve(chains)
    for (const chain of chains) {
      await settle(chain)
      await checkAnswers(chain)
    }
    const heading = ['eth_getLogs, 100 hits', `${SMALL} blocks, ms`, `${LARGE} blocks, ms`, 'ratio', 'bound']
    const warm = Array.from({ length: WARM }, (_, n) => COLD + n)
    const rows = []
    for (const [question, [name]] of QUESTIONS.entries()) rows.push(row(`${name}`, await inTurn(chains, question, warm)))
    for (const [question, [name]] of QUESTIONS.entries()) rows.push(row(`${name}, repeated`, await inTurn(chains, question, warm)))
    await stop(chains)
    await coldRows(chains, rows)
    table('logs', heading, rows)
    showTables(chains[1].home)
  } finally {
    await stop(chains)
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

/** The same with empty caches: fresh nodes, pages of the files dropped before each query. */
async function coldRows(chains, rows) {
  await serve(chains)
  const before = chains.map(({ node }) => diskBytes(node.pid))
  for (const [question, [name]] of QUESTIONS.entries()) {
    const times = chains.map(() => [])
    for (let set = 0; set < COLD; set++) {
      for (const [at, chain] of chains.entries()) {
        forgetPages(chain.home)
        times[at].push(await timed(chain, question, set))
      }
    }
    rows.push(row(`${name}, cold`, times))
  }
  const read = chains.map(({ node }, at) => (before[at] === undefined ? '?' : ((diskBytes(node.pid) - before[at]) / 2 ** 20).toFixed(1)))
  rows.push(['MiB read from disk by the cold ones', ...read, '', ''])
}
