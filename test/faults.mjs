// `npm run test:faults`: the full fault suites of littable, of the WAL and of the whole state
// store, with one table of their results at the end.
//
// Variables of the environment set the amounts: HEARTH_FAULT_RUNS (about four power cuts each),
// HEARTH_FAULT_FLIPS, HEARTH_FAULT_KILLS, HEARTH_FAULT_FROM, the first seed, and for the state
// store HEARTH_FLATKV_KILLS, HEARTH_FLATKV_CUTS (24 power cuts each), HEARTH_FLATKV_NAMES,
// HEARTH_FLATKV_ERRORS (8 failing calls each) and HEARTH_FLATKV_FLIPS.
import { spawn } from 'node:child_process'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '..')
const AMOUNTS = {
  HEARTH_FAULT_RUNS: '28000',
  HEARTH_FAULT_FLIPS: '40000',
  HEARTH_FAULT_KILLS: '200',
  HEARTH_FLATKV_KILLS: '1000',
  HEARTH_FLATKV_CUTS: '200',
  HEARTH_FLATKV_NAMES: '30',
  HEARTH_FLATKV_ERRORS: '60',
  HEARTH_FLATKV_FLIPS: '3000',
}
const SUITES = [
  ['-p', 'hearth-littable', '--test', 'faults', '--', '--nocapture'],
  ['-p', 'hearth-flatkv-storage', '--lib', 'wal::faults', '--', '--nocapture'],
  ['-p', 'hearth-flatkv', '--test', 'faults', '--', '--nocapture'],
]

/** Runs one suite, shows its output, and gives its status and the rows in it. */
function suite(args) {
  return new Promise((resolve) => {
    const command = [path.join('native', 'setup', 'cargo.mjs'), 'test', ...args]
    const env = { ...AMOUNTS, ...process.env }
    const child = spawn(process.execPath, command, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] })
    let text = ''
    child.stdout.on('data', (data) => {
      text += data
      process.stdout.write(data)
    })
    child.once('error', (error) => resolve({ code: 127, rows: [], error }))
    // Not `exit`: the table comes last, and may not be read by then.
    child.once('close', (code) => {
      const rows = [...text.matchAll(/faults: (\w+) \| ([^|\n]+) \| (\d+) \| (\d+) \| (\d+)$/gm)]
      resolve({ code: code ?? 1, rows: rows.map((row) => row.slice(1)) })
    })
  })
}

const results = []
for (const args of SUITES) results.push(await suite(args))
console.log('\nstore | kind | tried | lost | wrong')
for (const [store, kind, tried, lost, wrong] of results.flatMap((result) => result.rows)) {
  console.log(`${store} | ${kind} | ${tried} | ${lost} | ${wrong}`)
}
process.exitCode = results.every((result) => result.code === 0 && result.rows.length > 0) ? 0 : 1
