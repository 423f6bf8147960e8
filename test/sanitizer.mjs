// Tests of the crates with the most unsafe code under AddressSanitizer: `node test/sanitizer.mjs`,
// with names of crates those alone. Miri cannot run them: they call preadv2, clone and prctl.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { cargoEnv } from '../native/setup/cargo.mjs'
import { ROOT } from '../native/setup/env.mjs'

const CRATES = process.argv.length > 2 ? process.argv.slice(2) : ['hearth-disk', 'hearth-recorder', 'hearth-tracers', 'hearth-sandbox']

/**
 * Crates of which only unit tests run: the other tests of the sandbox start children that confine
 * themselves, and the runtime of the sanitizer needs the memory and the system calls that they give
 * up.
 */
const UNIT_ONLY = new Set(['hearth-sandbox'])

/** The sanitizer is for a target that is named, so that build scripts are without it. */
const HOST = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-unknown-linux-gnu`

const sum = (text, pattern) => [...text.matchAll(pattern)].reduce((total, [, n]) => total + Number(n), 0)

/**
 * Whether the toolchain has the runtime of the sanitizer: those of rustup have it, some of
 * distributions do not.
 */
function hasRuntime() {
  const { status, stdout } = spawnSync('rustc', ['--print', 'target-libdir', '--target', HOST], { encoding: 'utf8' })
  const folder = status === 0 ? stdout.trim() : ''
  return folder !== '' && fs.existsSync(folder) && fs.readdirSync(folder).some((name) => name.endsWith('_rt.asan.a'))
}

if (!hasRuntime()) {
  console.log(`skipped: the Rust toolchain has no AddressSanitizer for ${HOST}; those of rustup have it`)
  console.log('0 passed, 0 failed')
  process.exit(0)
}
const env = await cargoEnv()

/** Runs tests of the crates; the exit status and the output. */
async function run(crates, targets) {
  const args = ['test', '--target', HOST, ...targets, '--no-fail-fast', ...crates.flatMap((name) => ['-p', name])]
  const child = spawn('cargo', args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      ...env,
      CARGO_TARGET_DIR: path.join(env.CARGO_TARGET_DIR, 'sanitizer'),
      CARGO_TERM_COLOR: 'never',
      // The flag is unstable, the sanitizer is not: this permits it without a nightly toolchain.
      RUSTC_BOOTSTRAP: '1',
      RUSTFLAGS: '-Zsanitizer=address',
      // Caches that live as long as the process are no leaks; children of the sandbox are killed.
      ASAN_OPTIONS: 'detect_leaks=0',
    },
  })
  let text = ''
  child.stdout.on('data', (data) => {
    text += data
    process.stdout.write(data)
  })
  return { code: await new Promise((resolve) => child.once('close', resolve)), text }
}

const [whole, unit] = [CRATES.filter((name) => !UNIT_ONLY.has(name)), CRATES.filter((name) => UNIT_ONLY.has(name))]
const runs = []
if (whole.length > 0) runs.push(await run(whole, ['--lib', '--tests']))
if (unit.length > 0) runs.push(await run(unit, ['--lib']))
const text = runs.map((done) => done.text).join('')
const code = runs.some((done) => done.code !== 0) ? 1 : 0
for (const [, names] of text.matchAll(/^failures:\n((?: {4}\S+\n)+)/gm))
  for (const name of names.trim().split(/\s+/)) console.log(`  FAILED: ${name}`)
const passed = sum(text, /^test result: \w+\. (\d+) passed/gm)
const failed = sum(text, /^test result: \w+\. \d+ passed; (\d+) failed/gm)
// A report of the sanitizer ends its test program without a result.
console.log(`${passed} passed, ${failed + (code !== 0 && failed === 0 ? 1 : 0)} failed`)
process.exit(code === 0 ? 0 : 1)
