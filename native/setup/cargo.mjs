// Runs cargo in the project's environment: node native/setup/cargo.mjs test -p hearth-flatkv
// `--print-env` prints that environment as shell exports instead; `--prepare` makes what it names,
// and nothing else.
import { spawnSync } from 'node:child_process'
import { ROOT, SetupError, TARGET } from './env.mjs'
import { libclangEnv } from './libclang.mjs'
import { rocksdbEnv } from './rocksdb.mjs'

/**
 * Whether cargo keeps parts of a crate for its next build. The setting is part of what cargo knows
 * a compiled crate by, so callers that differ in it compile every crate of this workspace twice;
 * and what is kept takes gigabytes. `CARGO_INCREMENTAL=1` switches it on for all of them.
 */
const INCREMENTAL = process.env.CARGO_INCREMENTAL ?? '0'

/**
 * The environment of every cargo call: prebuilt RocksDB, libclang, a target directory outside the
 * checkout, and nothing kept for incremental builds.
 */
export async function cargoEnv() {
  return { CARGO_TARGET_DIR: TARGET, CARGO_INCREMENTAL: INCREMENTAL, ...libclangEnv(), ...(await rocksdbEnv()) }
}

/** Runs cargo with the arguments, output passed through; resolves to its exit status. */
export async function cargo(args, options = {}) {
  const env = { ...process.env, ...(await cargoEnv()), ...options.env }
  const r = spawnSync('cargo', args, { cwd: ROOT, stdio: 'inherit', ...options, env })
  if (r.error) throw new SetupError('cargo is missing. Install Rust 1.95 or newer (rustup), then run the command again.')
  return r.status ?? 1
}

if (process.argv[1] === import.meta.filename) {
  try {
    if (process.argv[2] === '--print-env') for (const [k, v] of Object.entries(await cargoEnv())) console.log(`export ${k}='${v}'`)
    else if (process.argv[2] === '--prepare') await cargoEnv()
    else process.exit(await cargo(process.argv.slice(2)))
  } catch (e) {
    if (!(e instanceof SetupError)) throw e
    console.error(`hearth set-up: ${e.message}`)
    process.exit(1)
  }
}
