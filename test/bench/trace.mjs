// Trace speed over RPC: Hearth and geth on one generated chain, in interleaved pairs; the answers
// are compared first.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from './chain.mjs'
import { HELD_STEPS_MAX, LOOP_STEPS, loopParams, memoryTable } from './memory.mjs'
import { freePort, importChain, run, serveHearth, started } from './process.mjs'
import { anvilTable, growthTable, recordedTable } from './recorded.mjs'
import { ask, canonical, result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

/** Blocks grow from the first to the last, so that a row can be taken at either end. */
const CHAIN = { blocks: 24, least: 200, most: 1400 }

/** Blocks of it whose trace time is set against their gas. */
const GROWTH_BLOCKS = 5

/** Interleaved pairs a row. */
const PAIRS = 7

/**
 * Interleaved pairs of a row whose answers take less than `SHORT_MS`: the time of a single one is
 * noise.
 */
const SHORT_PAIRS = 101
const SHORT_MS = 20

/** Warm-up time of each side before it is measured, in milliseconds; at least one request. */
const WARM_MS = 1500

/** Time that geth may take for an answer, in nanoseconds. */
const GETH_HTTP_NANOS = 3600e9

const TRACERS = ['callTracer', 'prestateTracer', 'flatCallTracer']

async function startHearth(chain, home) {
  importChain(home, chain)
  return serveHearth(home)
}

/** geth on a generated chain that it imports first. */
export async function startGeth(chain, home) {
  const archive = ['--datadir', home, '--state.scheme', 'hash', '--gcmode', 'archive']
  run('geth', ['init', '--datadir', home, '--state.scheme', 'hash', path.join(chain.dir, 'genesis.json')])
  run('geth', ['import', ...archive, '--nocompaction', path.join(chain.dir, 'chain.rlp')])
  const [port, auth] = [await freePort(), await freePort()]
  // geth gives up an answer after 30 seconds; a busy machine may take longer to count its steps.
  const config = path.join(home, 'geth.toml')
  const limits = ['ReadTimeout', 'ReadHeaderTimeout', 'WriteTimeout', 'IdleTimeout'].map((name) => `${name} = ${GETH_HTTP_NANOS}`)
  fs.writeFileSync(config, `[Node.HTTPTimeouts]\n${limits.join('\n')}\n`)
  const quiet = ['--config', config, '--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--authrpc.port', String(auth)]
  return started('geth', [...archive, ...quiet, '--http', '--http.port', String(port), '--http.api', 'eth,debug'], port)
}

/** A row; one that fails says so and does not end the bench. */
async function row(name, sides, method, params, options) {
  try {
    return await pair(name, sides, method, params, options)
  } catch (e) {
    return [name, 'failed', '', '', e.message]
  }
}

/** Sends requests until `WARM_MS` are over; returns the milliseconds of the last answer. */
async function warm(url, method, params, encoding) {
  const until = performance.now() + WARM_MS
  let last
  do last = (await ask(url, method, params, { encoding })).ms
  while (performance.now() < until)
  return last
}

/**
 * One row: both sides in turns, whose answers are compared first if `compare` is set.
 *
 * @param {string} name
 * @param {Record<string, any>} sides
 * @param {string} method
 * @param {unknown[]} params
 * @param {{ compare?: boolean, pairs?: number, encoding?: string,
 *   unit?: (ms: number) => number }} [options]
 */
async function pair(name, sides, method, params, { compare = true, pairs = PAIRS, encoding, unit } = {}) {
  const { ours, theirs } = sides
  let equal = 'not compared'
  if (compare && theirs) {
    const [have, want] = [await result(ours.url, method, params), await result(theirs.url, method, params)]
    equal = canonical(have) === canonical(want) ? 'equal' : 'DIFFERENT'
  }
  const times = { ours: [], theirs: [] }
  const warmed = [await warm(ours.url, method, params, encoding)]
  if (theirs) warmed.push(await warm(theirs.url, method, params, encoding))
  const count = warmed.every((ms) => ms < SHORT_MS) ? SHORT_PAIRS : pairs
  for (let i = 0; i < count; i++) {
    const order = i % 2 ? ['theirs', 'ours'] : ['ours', 'theirs']
    for (const side of order) if (sides[side]) times[side].push((await ask(sides[side].url, method, params, { encoding })).ms)
  }
  const shown = (list) => (list.length ? spread(list.map(unit ?? ((ms) => ms)), unit ? 2 : 1) : 'skipped')
  const ratio = times.theirs.length
    ? `${spread(
        times.ours.map((ms, i) => times.theirs[i] / ms),
        2,
      )}`
    : ''
  const losing = times.theirs.length && median(times.theirs.map((ms, i) => ms / times.ours[i])) < 1 ? '  LOSING' : ''
  return [name, shown(times.ours), shown(times.theirs), `${ratio}${losing}`, equal]
}

async function blockRows(chain, sides) {
  const rows = []
  for (const number of [1, chain.blocks]) {
    const tag = `0x${number.toString(16)}`
    const block = await result(sides.ours.url, 'eth_getBlockByNumber', [tag, false])
    const [first, last] = [block.transactions[0], block.transactions.at(-1)]
    const size = `${block.transactions.length} transactions, ${(Number(block.gasUsed) / 1e6).toFixed(0)} Mgas`
    for (const tracer of TRACERS) {
      const name = `traceBlock ${tracer}, ${size} (ms)`
      rows.push(await row(name, sides, 'debug_traceBlockByNumber', [tag, { tracer, timeout: '300s' }]))
    }
    if (number !== chain.blocks) continue
    rows.push(
      await pair(`the same, callTracer, gzip (ms)`, sides, 'debug_traceBlockByNumber', [tag, { tracer: 'callTracer' }], {
        encoding: 'gzip',
      }),
    )
    rows.push(
      await pair('traceTransaction callTracer, the first of them (ms)', sides, 'debug_traceTransaction', [first, { tracer: 'callTracer' }]),
    )
    rows.push(
      await pair('traceTransaction callTracer, the last of them (ms)', sides, 'debug_traceTransaction', [last, { tracer: 'callTracer' }]),
    )
    rows.push(
      await pair(`struct logs of a block of ${size} (ms)`, sides, 'debug_traceBlockByNumber', [tag, {}], { compare: false, pairs: 3 }),
    )
  }
  return rows
}

async function loopRows(sides) {
  const rows = []
  for (const steps of LOOP_STEPS) {
    const peer = steps > HELD_STEPS_MAX ? { ours: sides.ours } : sides
    const unit = (ms) => steps / 1e3 / ms
    const name = `struct logs, ${steps / 1e6} M steps (M steps/s)`
    rows.push(await row(name, peer, 'debug_traceCall', loopParams(steps), { compare: false, pairs: 3, unit }))
  }
  return rows
}

/** The bench behind `npm run bench -- trace`. */
export async function traceBench() {
  const chain = await generatedChain(CHAIN)
  const homes = [0, 1].map(() => fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-trace-')))
  /** @type {Record<string, any>} */
  const sides = { ours: await startHearth(chain, homes[0]) }
  try {
    if (spawnSync('geth', ['version']).status === 0) sides.theirs = await startGeth(chain, homes[1])
    else console.log('skipped: geth is not on the PATH, so nothing to compare with')
    const rows = [...(await blockRows(chain, sides)), ...(await loopRows(sides))]
    table('trace', ['row', 'hearth', 'geth', 'geth over hearth', 'answers'], rows)
    await memoryTable(sides)
    const sizes = Array.from({ length: GROWTH_BLOCKS }, (_, i) => 1 + Math.round((i * (chain.blocks - 1)) / (GROWTH_BLOCKS - 1)))
    await growthTable(sides.ours.url, sizes, await recordedTable())
    await anvilTable()
  } finally {
    await sides.ours.stop()
    await sides.theirs?.stop()
    for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
  }
}
