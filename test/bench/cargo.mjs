// Benches of the Rust crates: cargo runs them, and their lines that begin with `bench: ` become the
// table.
import { spawn } from 'node:child_process'
import readline from 'node:readline'
import { cargoEnv } from '../../native/setup/cargo.mjs'
import { ROOT } from '../../native/setup/env.mjs'
import { table } from './stats.mjs'

const HEADING = ['row', 'hearth', 'beside it', 'ratio', 'CPU s, hearth', 'CPU s, beside it', 'target']

/**
 * Parts of row names after `--only=` on the command line, separated by commas; undefined: all rows.
 */
const ONLY = process.argv
  .find((arg) => arg.startsWith('--only='))
  ?.slice('--only='.length)
  .split(',')

/**
 * Runs the rows of a crate's bench whose names contain one of `parts`, or all rows without `parts`,
 * and prints their table.
 */
async function cargoBench(name, args, parts = [], title) {
  const passed = [...(process.argv.includes('--quick') ? ['--quick'] : []), ...parts]
  const child = spawn('cargo', ['bench', '--locked', ...args, ...(passed.length ? ['--', ...passed] : [])], {
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
  table(name, HEADING, rows, title)
}

/** The bench behind `npm run bench -- littable`. */
export const littableBench = () => cargoBench('littable', ['-p', 'hearth-littable', '--bench', 'storage'], ONLY)

const FLATKV = ['-p', 'hearth-flatkv', '--features', 'bench', '--bench', 'state']

/** Rows of the state store but for the open loop. */
const STATE_ROWS = ['commit:', 'read:', 'lthash:', 'root:', 'reopen', 'depth:']

/** The store beside bare RocksDB and beside itself; `--only=read:,depth:` names rows. */
export const stateBench = () => cargoBench('flatkv', FLATKV, ONLY ?? STATE_ROWS)

/**
 * What the store holds for ten minutes, and 20,000 commits to a schedule;
 * HEARTH_BENCH_LOOP_SECONDS, _COMMITS and _RATE (pairs a second) have other numbers.
 */
export const loopBench = () => cargoBench('flatkv', FLATKV, ['loop:'], 'commits that come at fixed times')

/** What all layers of confinement add to the start of a process of JavaScript tracers, in pairs. */
export const sandboxBench = () =>
  cargoBench('js', ['-p', 'hearth-sandbox', '--bench', 'start'], [], 'what confinement adds to the start of a process')
