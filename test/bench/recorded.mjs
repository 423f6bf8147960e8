// Recorded mainnet blocks: the speed of their traces, how it scales with gas, and the time of anvil
// for the same.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import zlib from 'node:zlib'
import { ROOT } from '../../native/setup/env.mjs'
import { haveAnvil, startAnvilOn } from './anvil.mjs'
import { HEARTH, run, serveHearth } from './process.mjs'
import { ask, canonical, result, StepCounter } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

const DIR = path.resolve(ROOT, process.env.HEARTH_FIXTURES ?? '../shared/fixtures', 'mainnet-blocks')

/** Every recorded block, and anvil on large ones too: an hour. */
const ALL = process.argv.includes('--all')

/** Blocks of one run: of many forks, from small to full. */
const BLOCKS = ['4330482', '8038679', '12459406', '13287210', '15199017', '15538827', '17034869', '18085863', '19932703']

/**
 * Blocks that anvil traces too. It executes everything before a transaction again for each, so it
 * needs minutes for large ones.
 */
const ANVIL_BLOCKS = ['17034869', '18884864', '19932703']

/** Blocks with most steps among them. */
export const BUSIEST = ['18085863', '18884864', '21230867']

/** Measured requests a cell; the first one more is not counted. */
const RUNS = 5

const TRACERS = ['callTracer', 'prestateTracer', 'flatCallTracer']
const TIMEOUT = '3600s'

/** A recorded block. */
export const readBlock = (name) => JSON.parse(zlib.gunzipSync(fs.readFileSync(path.join(DIR, `${name}.json.gz`))).toString())
const mgas = (block) => Number(block.gasUsed) / 1e6

/** Whether the recorded blocks are there; says where they are not. */
export function haveBlocks() {
  if (fs.existsSync(DIR)) return true
  console.log(`skipped: ${path.basename(DIR)} is not in ${path.dirname(DIR)}`)
  return false
}

/** Imports a recorded block into a home of its own and serves it while `work` runs. */
export async function serving(name, work) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-block-'))
  try {
    const home = path.join(dir, 'home')
    run(process.execPath, [HEARTH, 'import', '--home', home, '--case', path.join(DIR, `${name}.json.gz`)])
    const node = await serveHearth(home)
    try {
      return await work(node, dir)
    } finally {
      await node.stop()
    }
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

/** Milliseconds of each of several equal requests, warm. */
async function times(url, method, params, runs = RUNS) {
  await ask(url, method, params)
  const list = []
  for (let i = 0; i < runs; i++) list.push((await ask(url, method, params)).ms)
  return list
}

/**
 * How a quantity grows with another: the exponent of the power law that fits best (least squares of
 * the logarithms). 1 is linear, 2 is quadratic.
 */
export function exponent(points) {
  const logs = points.map(([x, y]) => [Math.log(x), Math.log(y)])
  const mean = (i) => logs.reduce((sum, point) => sum + point[i], 0) / logs.length
  const [mx, my] = [mean(0), mean(1)]
  const covariance = logs.reduce((sum, [x, y]) => sum + (x - mx) * (y - my), 0)
  return covariance / logs.reduce((sum, [x]) => sum + (x - mx) ** 2, 0)
}

/** One block: a cell a tracer, and struct logs. */
async function blockRow(node, block) {
  /** @returns {[method: string, params: unknown[]]} */
  const ask4 = (config) => ['debug_traceBlockByNumber', [block.number, { timeout: TIMEOUT, ...config }]]
  const cells = []
  const points = {}
  for (const tracer of TRACERS) {
    const list = await times(node.url, ...ask4({ tracer }))
    cells.push(spread(list))
    points[tracer] = [mgas(block), median(list)]
  }
  const steps = new StepCounter()
  await ask(node.url, ...ask4({}), { take: steps.take })
  const logs = await times(node.url, ...ask4({}), 3)
  const rates = logs.map((ms) => steps.count / 1e3 / ms)
  return { cells: [...cells, spread(logs, 0), spread(rates)], points }
}

/** Table of recorded blocks; gives what its traces took by gas, for the table of growth. */
export async function recordedTable() {
  if (!haveBlocks()) return {}
  const files = fs.readdirSync(DIR).flatMap((file) => /^(\d+)\.json\.gz$/.exec(file)?.[1] ?? [])
  const rows = []
  const grown = Object.fromEntries(TRACERS.map((tracer) => [tracer, []]))
  for (const name of ALL ? files : BLOCKS) {
    const { block } = readBlock(name)
    const size = [name, block.transactions.length, mgas(block).toFixed(1)]
    try {
      const { cells, points } = await serving(name, (node) => blockRow(node, block))
      rows.push([...size, ...cells])
      for (const tracer of TRACERS) if (block.transactions.length > 0) grown[tracer].push(points[tracer])
    } catch (e) {
      rows.push([...size, `failed: ${e.message}`, '', '', '', ''])
    }
  }
  const heading = ['block', 'transactions', 'Mgas', ...TRACERS.map((tracer) => `${tracer} (ms)`), 'struct logs (ms)', 'M steps/s']
  table('trace', heading, rows, 'recorded mainnet blocks, traced whole')
  return grown
}

/** Table of time against gas: blocks of one chain whose sizes grow, and the recorded ones. */
export async function growthTable(url, numbers, recorded) {
  const rows = []
  for (const tracer of TRACERS) {
    const points = []
    for (const number of numbers) {
      const tag = `0x${number.toString(16)}`
      const block = await result(url, 'eth_getBlockByNumber', [tag, false])
      const list = await times(url, 'debug_traceBlockByNumber', [tag, { tracer, timeout: TIMEOUT }])
      points.push([mgas(block), median(list)])
      const cells = [mgas(block).toFixed(1), spread(list), (median(list) / mgas(block)).toFixed(2), '']
      rows.push([`${tracer}, generated, ${block.transactions.length} transactions`, ...cells])
    }
    for (const [name, set] of [
      ['generated', points],
      ['recorded', recorded[tracer] ?? []],
    ]) {
      if (set.length < 3) continue
      const rates = set.map(([gas, ms]) => ms / gas)
      rows.push([`${tracer}, ${set.length} ${name} blocks`, '', '', spread(rates, 2), exponent(set).toFixed(2)])
    }
  }
  table('trace', ['blocks', 'Mgas', 'ms', 'ms/Mgas', 'exponent over gas'], rows, 'trace time against gas (an exponent of 1 is linear)')
}

/**
 * anvil reports the gas after the intrinsic cost and no gas used for the outermost call: these
 * fields are not compared.
 */
function withoutTopGas(trace) {
  const { gas, gasUsed, ...rest } = trace
  return rest
}

/** Whether anvil's answer is ours. */
function compared(have, want, tracer) {
  if (canonical(have) === canonical(want)) return 'equal'
  if (tracer !== 'callTracer') return 'DIFFERENT'
  const calls = (answer) => (Array.isArray(answer) ? answer.map((e) => ({ ...e, result: withoutTopGas(e.result) })) : withoutTopGas(answer))
  return canonical(calls(have)) === canonical(calls(want)) ? "equal but for the outermost call's gas" : 'DIFFERENT'
}

/** A row that both answer, anvil once. */
async function anvilRow(name, ours, anvil, method, params) {
  const list = await times(ours.url, method, params)
  let began
  try {
    began = process.hrtime.bigint()
    const want = await result(anvil.url, method, params)
    const ms = Number(process.hrtime.bigint() - began) / 1e6
    const equal = compared(await result(ours.url, method, params), want, params[1].tracer)
    // Who answers something else has not won.
    if (equal === 'DIFFERENT') return [name, spread(list), ms.toFixed(1), 'void', equal]
    const ratio = ms / median(list)
    return [name, spread(list), ms.toFixed(1), `${ratio.toFixed(1)}${ratio < 1 ? '  LOSING' : ''}`, equal]
  } catch (e) {
    return [name, spread(list), `refused: ${e.message.slice(0, 80)}`, '', 'not compared']
  }
}

async function anvilRows(name) {
  const recorded = readBlock(name)
  const { block } = recorded
  const size = `block ${name}, ${block.transactions.length} transactions, ${mgas(block).toFixed(0)} Mgas`
  return serving(name, async (ours, dir) => {
    const anvil = await startAnvilOn(recorded, dir)
    const config = (tracer) => ({ tracer, timeout: TIMEOUT })
    const rows = []
    try {
      for (const tracer of TRACERS)
        rows.push(
          await anvilRow(`traceBlock ${tracer}, ${size} (ms)`, ours, anvil, 'debug_traceBlockByNumber', [block.number, config(tracer)]),
        )
      for (const [which, tx] of [
        ['first', block.transactions[0]],
        ['last', block.transactions.at(-1)],
      ])
        rows.push(
          await anvilRow(`traceTransaction callTracer, its ${which} (ms)`, ours, anvil, 'debug_traceTransaction', [
            tx.hash,
            config('callTracer'),
          ]),
        )
    } finally {
      await anvil.stop()
    }
    return rows
  })
}

/** Table of recorded blocks beside anvil. */
export async function anvilTable() {
  if (!haveBlocks() || !haveAnvil()) return
  const rows = []
  for (const name of ALL ? [...ANVIL_BLOCKS, '15538827'] : ANVIL_BLOCKS) {
    try {
      rows.push(...(await anvilRows(name)))
    } catch (e) {
      rows.push([`block ${name}`, 'failed', '', '', e.message.slice(0, 200)])
    }
  }
  table('trace', ['row', 'hearth', 'anvil, once', 'anvil over hearth', 'answers'], rows, 'recorded mainnet blocks beside anvil 1.7.1')
}
