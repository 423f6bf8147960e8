// Benches of the Rust crates: cargo runs them, the lines that begin with `bench: ` become the table.
import { spawn } from 'node:child_process'
import readline from 'node:readline'
import { cargoEnv } from '../../native/setup/cargo.mjs'
import { ROOT } from '../../native/setup/env.mjs'
import { table } from './stats.mjs'

const HEADING = ['row', 'hearth', 'beside it', 'ratio', 'CPU s, hearth', 'CPU s, beside it', 'target']

/** Runs the benches of a crate and prints their table; what the command line asks for after the name goes to them. */
async function cargoBench(name, args) {
  const passed = process.argv.includes('--quick') ? ['--', '--quick'] : []
  const child = spawn('cargo', ['bench', '--locked', ...args, ...passed], {
    cwd: ROOT,
    env: { ...process.env, ...(await cargoEnv()) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = new Promise((resolve, reject) => child.once('error', reject).once('close', resolve))
  const rows = []
  for await (const line of readline.createInterface({ input: child.stdout })) {
    if (line.startsWith('bench: ')) rows.push(line.slice('bench: '.length).split(' | '))
    else console.log(line)
  }
  const status = await ended
  if (status !== 0) throw new Error(`the bench of ${name} ended with ${status}`)
  table(name, HEADING, rows)
}

/** The bench behind `npm run bench -- littable`. */
export const littableBench = () => cargoBench('littable', ['-p', 'hearth-littable', '--bench', 'storage'])

/** The bench behind `npm run bench -- flatkv`. */
export const flatkvBench = () => cargoBench('flatkv', ['-p', 'hearth-flatkv', '--features', 'bench', '--bench', 'state'])
