// `npm run test:faults`: the fault suites of littable and of the WAL in full, and one table over them at the end.
//
// Amounts come out of the environment where it has them: HEARTH_FAULT_RUNS (about four power cuts each), HEARTH_FAULT_FLIPS,
// HEARTH_FAULT_KILLS, and HEARTH_FAULT_FROM, the first seed.
import { spawn } from 'node:child_process'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '..')
const AMOUNTS = { HEARTH_FAULT_RUNS: '28000', HEARTH_FAULT_FLIPS: '40000', HEARTH_FAULT_KILLS: '200' }
const SUITES = [
  ['-p', 'hearth-littable', '--test', 'faults', '--', '--nocapture'],
  ['-p', 'hearth-flatkv', '--lib', 'wal::faults', '--', '--nocapture'],
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
    child.once('exit', (code) => {
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
