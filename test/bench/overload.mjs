// Cheap calls during overload by traces: eth_blockNumber in an open loop from another process, in
// pairs of idle and loaded, with eight callers of the mix of traces that ran a public node out of
// memory, as fast as they are answered and at a fixed rate, and the same with hostile scripts among
// them.
import fs from 'node:fs'
import { openOverload, percentile } from './overload/node.mjs'
import { median, table } from './stats.mjs'

/** Pairs of idle and loaded, and how long each half is, in milliseconds. */
const PAIRS = process.argv.includes('--quick') ? 3 : 10
const HALF_MS = 5000

/**
 * Traces a second of the row at a fixed rate: about what eight callers got from the first version
 * that this bench measured. A faster node has more load without a fixed rate.
 */
const RATE = 250

/** Load before it is measured, in milliseconds. */
const WARM_MS = 1000

/** What is wanted of p99: at most so many times that of idle, or so many milliseconds more. */
const TIMES = 2
const MORE_MS = 5

/** How much a deadline may be missed: the greater of the two. */
const DEADLINE_PART = 0.05
const DEADLINE_MS = 25

/** Milliseconds of a unit of /proc/stat (USER_HZ is 100 on Linux). */
const TICK_MS = 10

/**
 * Milliseconds that the hypervisor has run others on the processors of this machine, while they had
 * work to do (proc(5): steal).
 */
const stolenMs = () => Number(fs.readFileSync('/proc/stat', 'utf8').split('\n')[0].split(/ +/)[8]) * TICK_MS

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Pairs under one kind of load. */
async function measure({ pulse, callers, work }, hostile, rate) {
  const [idle, loaded, failed] = [[], [], []]
  const totals = { asked: 0, errors: {}, traces: [], deadlines: [], stolen: 0 }
  for (let i = 0; i < PAIRS; i++) {
    const before = await pulse.ask({ ms: HALF_MS })
    const stolen = stolenMs()
    callers.send(work(hostile, rate))
    await pause(WARM_MS)
    const beside = await pulse.ask({ ms: HALF_MS })
    const did = await callers.ask('stop')
    totals.stolen += stolenMs() - stolen
    idle.push(before.took)
    loaded.push(beside.took)
    failed.push(...before.failed, ...beside.failed)
    totals.asked += did.asked
    totals.traces.push(...did.traces)
    totals.deadlines.push(...did.deadlines)
    for (const [error, count] of Object.entries(did.errors)) totals.errors[error] = (totals.errors[error] ?? 0) + count
    console.error(
      `${hostile ? 'hostile' : 'mix'}${rate === undefined ? '' : ` at ${rate}/s`} pair ${i + 1}: p99 ${percentile(before.took, 99).toFixed(2)} -> ${percentile(beside.took, 99).toFixed(2)} ms, ${did.asked} traces`,
    )
  }
  return { idle, loaded, failed, totals }
}

const cell = (values, digits = 2) =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)})`

/** A row of the table of cheap calls; one that does not reach what is wanted says so. */
function cheapRow(name, { idle, loaded, failed }) {
  const [before, beside] = [idle, loaded].map((halves) => halves.map((took) => percentile(took, 99)))
  const wanted = Math.max(TIMES * median(before), median(before) + MORE_MS)
  const lost = median(beside) > wanted ? '  LOSING' : ''
  const middle = [idle, loaded].map((halves) => median(halves.map((took) => percentile(took, 50))).toFixed(2))
  return [
    name,
    ...middle,
    cell(before),
    `${cell(beside)}${lost}`,
    `<= ${wanted.toFixed(2)}`,
    `${failed.length}${failed.length > 0 ? '  LOSING' : ''}`,
  ]
}

/** A row of the table of traces. */
function traceRow(name, { totals }) {
  const late = totals.deadlines.filter(({ deadline, ms }) => ms > deadline + Math.max(deadline * DEADLINE_PART, DEADLINE_MS))
  const worst = Math.max(0, ...totals.deadlines.map(({ deadline, ms }) => ms - deadline))
  const errors = Object.entries(totals.errors).map(([error, count]) => `${count} ${error}`)
  return [
    name,
    totals.asked,
    percentile(totals.traces, 50).toFixed(0),
    percentile(totals.traces, 99).toFixed(0),
    `${totals.deadlines.length - late.length} of ${totals.deadlines.length}${late.length > 0 ? '  LOSING' : ''}`,
    worst.toFixed(0),
    totals.stolen,
    errors.join('; ').slice(0, 200) || 'none',
  ]
}

/** The bench behind `npm run bench -- overload`. */
export async function overloadBench() {
  const overload = await openOverload()
  try {
    // Whatever is made when it is needed first is made.
    overload.callers.send(overload.work(true))
    await pause(WARM_MS * 3)
    await overload.callers.ask('stop')
    /** @type {[name: string, run: any][]} */
    const runs = [
      ['the mix of traces', await measure(overload, false)],
      [`the same, ${RATE} traces a second`, await measure(overload, false, RATE)],
      ['the mix, a quarter of it hostile scripts', await measure(overload, true)],
    ]
    const heading = [
      'eth_blockNumber, 100 a second (ms)',
      'p50 idle',
      'p50 loaded',
      'p99 idle',
      'p99 loaded',
      'wanted',
      'refused or failed',
    ]
    table(
      'overload',
      heading,
      runs.map(([name, run]) => cheapRow(name, run)),
    )
    const traces = [
      'traces of 8 callers',
      'requests',
      'p50 (ms)',
      'p99 (ms)',
      'deadlines met',
      'worst over its deadline (ms)',
      'stolen by the hypervisor (ms)',
      'other errors',
    ]
    table(
      'overload',
      traces,
      runs.map(([name, run]) => traceRow(name, run)),
      'what the callers had',
    )
  } finally {
    await overload.stop()
  }
}
