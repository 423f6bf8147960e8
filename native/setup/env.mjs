// Where build products live, and the environment that every cargo call of this project runs in.
//
// The target directory and the prebuilt RocksDB lie in a cache under the home directory, outside
// the checkout, so that a second clone (CI's, say) finds the dependencies compiled.
import { spawnSync } from 'node:child_process'
import os from 'node:os'
import path from 'node:path'

/** Root of the checkout. */
export const ROOT = path.resolve(import.meta.dirname, '../..')

/** Everything built that outlives a checkout; `HEARTH_CACHE` moves it. */
export const CACHE = process.env.HEARTH_CACHE ?? path.join(process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache'), 'hearth')

/** Cargo's target directory; `CARGO_TARGET_DIR` moves it. */
export const TARGET = process.env.CARGO_TARGET_DIR ?? path.join(CACHE, 'target')

/** A failure of set-up that the user can repair: its message says what to type. */
export class SetupError extends Error {}

/** Runs a command and returns its standard output; undefined where it is missing or fails. */
export function output(command, args, options = {}) {
  const r = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options })
  return r.status === 0 ? r.stdout.trim() : undefined
}

/** Prints a progress line on standard error, so that standard output stays a command's own. */
export function say(line) {
  process.stderr.write(`hearth set-up: ${line}\n`)
}
