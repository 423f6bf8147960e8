// Tests of the crates with the most unsafe code under AddressSanitizer: `node test/sanitizer.mjs`.
// It needs a nightly toolchain and is skipped without one. Miri cannot run them: they call preadv2,
// clone and prctl.
import { spawn, spawnSync } from 'node:child_process'
import path from 'node:path'
import { cargoEnv } from '../native/setup/cargo.mjs'
import { ROOT } from '../native/setup/env.mjs'

const CRATES = process.argv.length > 2 ? process.argv.slice(2) : ['hearth-disk', 'hearth-recorder', 'hearth-tracers', 'hearth-sandbox']

/** The sanitizer is for a target that is named, so that build scripts are without it. */
const HOST = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-unknown-linux-gnu`

const sum = (text, pattern) => [...text.matchAll(pattern)].reduce((total, [, n]) => total + Number(n), 0)

if (spawnSync('cargo', ['+nightly', '--version']).status !== 0) {
  console.log('skipped: the sanitizer needs a nightly toolchain: rustup toolchain install nightly')
  console.log('0 passed, 0 failed')
  process.exit(0)
}
const env = await cargoEnv()
const args = ['+nightly', 'test', '--target', HOST, '--lib', '--tests', '--no-fail-fast', ...CRATES.flatMap((name) => ['-p', name])]
const child = spawn('cargo', args, {
  cwd: ROOT,
  stdio: ['ignore', 'pipe', 'inherit'],
  env: {
    ...process.env,
    ...env,
    CARGO_TARGET_DIR: path.join(env.CARGO_TARGET_DIR, 'sanitizer'),
    CARGO_TERM_COLOR: 'never',
    CARGO_INCREMENTAL: '0',
    RUSTFLAGS: '-Zsanitizer=address',
    // Caches that live as long as the process are no leaks; the sandbox's children end by signals.
    ASAN_OPTIONS: 'detect_leaks=0',
  },
})
let text = ''
child.stdout.on('data', (data) => {
  text += data
  process.stdout.write(data)
})
const code = await new Promise((resolve) => child.once('close', resolve))
for (const [, names] of text.matchAll(/^failures:\n((?: {4}\S+\n)+)/gm))
  for (const name of names.trim().split(/\s+/)) console.log(`  FAILED: ${name}`)
const passed = sum(text, /^test result: \w+\. (\d+) passed/gm)
const failed = sum(text, /^test result: \w+\. \d+ passed; (\d+) failed/gm)
// A report of the sanitizer ends its test program without a result.
console.log(`${passed} passed, ${failed + (code !== 0 && failed === 0 ? 1 : 0)} failed`)
process.exit(code === 0 ? 0 : 1)
