// `npm run test:abuse [-- --program FILE] [-- --only WORDS]`: attacks a node on loopback, one
// attack after the other, and prints a row for each: its outcome, the latency of another client
// meanwhile, how long the main thread worked, and the peak of memory. Fails if an outcome differs,
// the process is gone, or a bound does not hold. `--program` attacks another build.
import fs from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ATTACKS } from './attacks.mjs'
import { Attacked, makeHome, percentile } from './node.mjs'

const ROOT = path.resolve(import.meta.dirname, '../..')

/**
 * The factor by which bounds of time may be exceeded: the machine that runs tests may be slower
 * than the one that bounds were set for.
 */
const TIME_SLACK = 4

/**
 * How often an attack that exceeds a bound of time or memory is repeated, on a new node: what else
 * runs on the machine, and when V8 collects garbage, only ever adds to both. Bounds are those of a
 * release build of the core.
 */
const REPEATS_MAX = 2

/** Time for which another client measures at least: a percentile of few requests means little. */
const WINDOW_MS_MIN = 1000

const argument = (name) => {
  const at = process.argv.indexOf(name)
  return at < 0 ? undefined : process.argv[at + 1]
}
/** What users start: the command of the package. */
const { bin } = JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'))
const program = path.resolve(argument('--program') ?? path.join(ROOT, bin.hearth))
const only = argument('--only')

/**
 * What of an attack's outcome does not hold.
 *
 * @param {Record<string, any>} wanted
 * @param {string} said
 */
const wrongOf = ({ outcome }, said) => (said.includes(outcome) ? [] : [`outcome is not "${outcome}"`])

/**
 * Which bounds of an attack do not hold.
 *
 * @param {Record<string, any>} wanted
 * @param {{ took?: number, grew: number }} measured
 */
function exceededOf({ threadMs, memoryMiB }, { took, grew }) {
  const problems = []
  if (threadMs !== undefined && !(took <= threadMs * TIME_SLACK)) problems.push(`the main thread worked for ${took.toFixed(0)} ms`)
  if (memoryMiB !== undefined && !(grew <= memoryMiB)) problems.push(`memory grew by ${grew.toFixed(0)} MiB`)
  return problems
}

/** A number with its unit; nothing was measured where it is absent. */
const inUnit = (value, digits, unit) => (Number.isFinite(value) ? `${value.toFixed(digits)} ${unit}` : '-')

const shown = (said) => said.replace(/\s+/g, ' ').slice(0, 90)

/** Runs an attack that starts its own processes; gives its row. */
async function ownAttack(home, given) {
  const { said, grew } = await given.own(program, home)
  return {
    name: given.name,
    said: shown(said),
    grew,
    problems: wrongOf(given, said),
    exceeded: exceededOf(given, { took: undefined, grew }),
  }
}

/**
 * Runs one attack on a node; gives its row.
 *
 * @param {string} home
 * @param {Record<string, any>} given
 */
async function attack(home, given) {
  const { name, settings = [], run } = given
  const node = await Attacked.open(program, home, settings)
  try {
    node.resetPeak()
    const before = node.memoryMiB()
    await node.measured()
    const worked = node.threadMs()
    const began = performance.now()
    const said = await run(node)
    await sleep(100)
    const took = node.isAlive ? node.threadMs() - worked : Number.NaN
    const grew = node.isAlive ? node.peakMiB() - before : Number.NaN
    await sleep(WINDOW_MS_MIN - (performance.now() - began))
    const { times, failures } = await node.measured()
    const problems = wrongOf(given, said)
    const exceeded = exceededOf(given, { took, grew })
    if (!node.isAlive) problems.push('the process is gone')
    if (failures > 0) problems.push(`${failures} requests of another client failed`)
    const [p99, most] = [percentile(times, 0.99), Math.max(...times)]
    return { name, said: shown(said), p99, most, took, grew, problems, exceeded }
  } finally {
    await node.close()
  }
}

const home = await makeHome(program)
let failed = 0
const rows = []

/**
 * Runs an attack of any kind; gives its row.
 *
 * @param {Record<string, any>} one
 * @returns {Promise<Record<string, any>>}
 */
const measured = (one) =>
  (one.own === undefined ? attack : ownAttack)(home, one).catch((e) => ({
    name: one.name,
    said: '',
    problems: [e.message],
    exceeded: [],
  }))

try {
  for (const one of ATTACKS) {
    if (only !== undefined && !one.name.includes(only)) continue
    let row = await measured(one)
    for (let left = REPEATS_MAX; left > 0 && row.problems.length === 0 && row.exceeded.length > 0; left--) row = await measured(one)
    const problems = [...row.problems, ...row.exceeded]
    rows.push(row)
    const numbers = [row.p99, row.most, row.took].map((ms) => inUnit(ms, 1, 'ms'))
    console.log(`| ${row.name} | ${numbers.join(' | ')} | ${inUnit(row.grew, 0, 'MiB')} | ${row.said} | ${one.before ?? ''} |`)
    for (const problem of problems) console.log(`  FAILED: ${problem}`)
    if (problems.length > 0) failed++
  }
} finally {
  fs.rmSync(home, { recursive: true, force: true })
}
console.log('Columns: attack | p99 of another client | its longest | main thread | memory | outcome | before its defence')
console.log(`${rows.length - failed} passed, ${failed} failed`)
process.exit(failed > 0 ? 1 : 0)
