// The one test command behind `npm test`, `npm run test:quick` and `npm run test:full`.
//
// Sets up and builds what is missing, runs the Rust tests beside the TypeScript ones, and ends with
// the skipped tests and the reasons, the failures, then one line `N passed, N failed` over all
// tests that ran.
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '..')
const MODES = ['quick', 'default', 'full']
const mode = process.argv[2] ?? 'default'
if (!MODES.includes(mode)) {
  console.error(`unknown mode ${mode}: one of ${MODES.join(', ')}`)
  process.exit(2)
}

/**
 * @type {{ passed: number, failed: number, failures: string[], skipped: string[], peers: string[],
 *   steps: string[], files: { name: string, seconds: number }[] }}
 */
const total = { passed: 0, failed: 0, failures: [], skipped: [], peers: [], steps: [], files: [] }

/** When the run began. */
const start = Date.now()

/** Files that are listed at the end, those that took longest first. */
const SLOWEST_SHOWN = 10

/**
 * Niceness of the Rust step: it computes while the tests of nodes wait for processes, blocks and
 * disks, and must not make these late.
 */
const RUST_NICENESS = 5

/** Niceness of its compilation, which takes all processors and waits for nothing. */
const COMPILE_NICENESS = 19

/**
 * Files of tests of whole nodes that run at a time, for each processor: one alone keeps less than
 * half of a processor busy, since it waits for blocks, time limits and ends of processes.
 */
const E2E_WORKERS_PER_PROCESSOR = 2

/** How many at most, and memory that each has, in bytes: some run seven nodes and a browser. */
const [E2E_WORKERS_MAX, E2E_WORKER_BYTES] = [8, 2 ** 31]

/** How long the output of an ended command is waited for, in milliseconds. */
const OUTPUT_MS_MAX = 5_000

/** Gives a process, and what it starts from now on, less of a processor that others want too. */
function setNiceness(niceness, pid) {
  try {
    os.setPriority(pid, niceness)
  } catch {
    // It has ended, or the system has no priorities: the step only competes more.
  }
}

/** Passes whole lines on, each after the prefix: two steps print at the same time. */
function lineWriter(out, prefix) {
  let rest = ''
  const write = (text) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    if (lines.length > 0) out.write(lines.map((line) => `${prefix}${line}\n`).join(''))
  }
  return { write, end: () => rest !== '' && write('\n') }
}

/** Runs a command, shows its output, and gives exit status and the whole text back. */
function run(command, args, { env = {}, prefix = '', niceness = 0 } = {}) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, HEARTH_TEST: mode, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
    if (niceness !== 0 && child.pid !== undefined) setNiceness(niceness, child.pid)
    let text = ''
    for (const [from, to] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ]) {
      const shown = lineWriter(to, prefix)
      from.setEncoding('utf8')
      from.on('data', (data) => {
        text += data
        shown.write(data)
      })
      from.once('end', shown.end)
    }
    child.once('error', (e) => resolve({ code: 127, text: String(e) }))
    const ended = (code, signal) => resolve({ code: code ?? signal, text })
    child.once('close', ended)
    // Its output ends later, or never where a process that it left holds the pipe.
    child.once('exit', (code, signal) => setTimeout(ended, OUTPUT_MS_MAX, code, signal).unref())
  })
}

/**
 * Adds a step's counts; a step that fails without a failed test in it (such as a compiler error)
 * counts as one failure.
 */
function count(name, { code, text }, { passed, failed }, began) {
  for (const line of text.split('\n')) {
    const skip = /(skipped: .*)$/.exec(line.replace(/\x1b\[[0-9;]*m/g, ''))
    if (skip && !total.skipped.includes(`${name}: ${skip[1]}`)) total.skipped.push(`${name}: ${skip[1]}`)
    // Where another node disagrees or is late: shown, and no failure.
    const peer = /^(peer: .*)$/.exec(line.replace(/\x1b\[[0-9;]*m/g, ''))
    if (peer && !total.peers.includes(`${name}: ${peer[1]}`)) total.peers.push(`${name}: ${peer[1]}`)
  }
  const broken = code !== 0 && failed === 0 ? 1 : 0
  if (broken) total.failures.push(`${name}: ended with ${code}, and no test of it failed`)
  total.passed += passed
  total.failed += failed + broken
  total.steps.push(`${name}: ${passed} passed, ${failed + broken} failed, ${spanSince(began)}`)
}

/** The seconds that a step took, and when it began and ended: some run at the same time. */
function spanSince(began) {
  const [from, to] = [began, Date.now()].map((at) => Math.round((at - start) / 1000))
  return `${to - from} s (${from} to ${to})`
}

/** The names that cargo lists, indented, under "failures:" when a test program ends. */
const rustFailures = (text) =>
  [...text.matchAll(/^failures:\n((?: {4}\S+\n)+)/gm)].flatMap((m) => m[1].trim().split(/\s+/)).map((name) => `rust: ${name}`)

/** Test programs that a signal ended, which name no failed test. */
const rustKilled = (text) =>
  [...text.matchAll(/process didn't exit successfully: `.*\/([^/` ]+)-[0-9a-f]+(?: [^`]*)?` \((signal: [^)]*)\)/g)].map(
    ([, program, signal]) => `rust: ${program}: ended by ${signal}`,
  )

/** Lines of a failed test's message that are shown again at the end. */
const MESSAGE_LINES_MAX = 3

const sum = (text, pattern) => [...text.matchAll(pattern)].reduce((n, m) => n + Number(m[1]), 0)

/**
 * Each test program of cargo with the seconds that it took, as cargo and the program print them.
 * Cargo names the crate of the unit tests alone, and runs these before the crate's other programs.
 */
function rustPrograms(text) {
  const lines = /^ +(?:Running (?:unittests )?(\S+) \(.*\/(\S+)-[0-9a-f]+\)|Doc-tests (\S+))|^test result: .* finished in ([\d.]+)s/gm
  let crate = ''
  let name = 'rust'
  for (const [, source, program, docs, seconds] of text.matchAll(lines)) {
    if (seconds !== undefined) total.files.push({ name: `rust: ${name}`, seconds: Number(seconds) })
    else if (source === undefined) name = `doc tests of ${docs}`
    else {
      if (source.startsWith('src/')) crate = program ?? ''
      name = `${crate} ${source}`
    }
  }
}

/** Heights of the model of a network under CometBFT in the full run: about 10 minutes on two
 * processors. */
const CONSENSUS_HEIGHTS = '100000'

async function rust() {
  const began = Date.now()
  const heights = mode === 'full' && !process.env.HEARTH_CONSENSUS_HEIGHTS ? { HEARTH_CONSENSUS_HEIGHTS: CONSENSUS_HEIGHTS } : {}
  // The full run alone builds the programs of crates/*/examples, and runs rustdoc over each crate
  // for examples in comments, of which there are none.
  const targets = mode === 'full' ? [] : ['--tests']
  const cargo = (niceness, ...args) =>
    run(
      process.execPath,
      ['native/setup/cargo.mjs', 'test', '--workspace', '--exclude', 'hearth-native', '--no-fail-fast', ...targets, ...args],
      { env: { CARGO_TERM_COLOR: 'never', ...heights }, prefix: 'rust | ', niceness },
    )
  const built = await cargo(COMPILE_NICENESS, '--no-run')
  const r = built.code === 0 ? await cargo(RUST_NICENESS, '--', '--nocapture') : built
  const results = /^test result: \w+\. (\d+) passed; \d+ failed/gm
  const failures = /^test result: \w+\. \d+ passed; (\d+) failed/gm
  const ignored = sum(r.text, /^test result: .* (\d+) ignored/gm)
  if (ignored) total.skipped.push(`rust: skipped: ${ignored} tests marked ignore`)
  total.failures.push(...rustFailures(r.text), ...rustKilled(r.text))
  rustPrograms(r.text)
  const compiled = /^ +Finished `test` profile .* in (.*)$/m.exec(built.text)?.[1]
  if (compiled !== undefined) total.steps.push(`rust compiled in ${compiled}`)
  count('rust', r, { passed: sum(r.text, results), failed: sum(r.text, failures) }, began)
}

/**
 * Each file of vitest with the seconds that it took, hooks included, as its reporter prints them:
 * the report as JSON has the times of tests alone.
 */
function vitestFiles(name, text) {
  const plain = text.replace(/\x1b\[[0-9;]*m/g, '')
  for (const [, file, ms] of plain.matchAll(
    /^ \S(?: \|\w+\|)? +(?:\[.*?\] )?(\S+\.test(?:-d)?\.ts) \(.*?\)(?: \d+ MB heap used)? +(\d+)\s?ms/gm,
  ))
    total.files.push({ name: `${name}: ${file}`, seconds: Number(ms) / 1000 })
}

async function vitest(name, dir, ...flags) {
  const began = Date.now()
  const report = path.join(ROOT, 'dist', `.vitest-${name}.json`)
  fs.mkdirSync(path.dirname(report), { recursive: true })
  fs.rmSync(report, { force: true })
  const r = await run(process.execPath, [
    'node_modules/vitest/vitest.mjs',
    'run',
    '--dir',
    dir,
    ...flags,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ])
  const json = fs.existsSync(report)
    ? JSON.parse(fs.readFileSync(report, 'utf8'))
    : { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, testResults: [] }
  for (const file of json.testResults)
    for (const t of file.assertionResults) {
      if (t.status === 'failed') {
        const why = (t.failureMessages[0] ?? '').split('\n').slice(0, MESSAGE_LINES_MAX).join(' | ')
        total.failures.push(`${name}: ${path.relative(ROOT, file.name)}: ${t.fullName}: ${why}`)
      }
      if (t.status === 'skipped' || t.status === 'pending') total.skipped.push(`${name}: skipped: ${t.fullName}`)
    }
  // A file that fails to load has no failed test in it, yet must not pass.
  const unloaded = json.testResults.filter((f) => f.status === 'failed' && f.assertionResults.every((t) => t.status !== 'failed'))
  for (const f of unloaded) total.failures.push(`${name}: ${path.relative(ROOT, f.name)}: ${(f.message ?? '').split('\n')[0]}`)
  vitestFiles(name, r.text)
  count(name, r, { passed: json.numPassedTests, failed: json.numFailedTests + unloaded.length }, began)
}

/** Tests with a runner of their own, which ends with the line `N passed, N failed`. */
async function runner(name, ...commands) {
  const began = Date.now()
  let r = { code: 0, text: '' }
  for (const args of commands) if (r.code === 0) r = await run(process.execPath, args)
  const [, passed = '0', failed = '0'] = /^(\d+) passed, (\d+) failed$/m.exec(r.text) ?? []
  for (const [, why] of r.text.matchAll(/^ {2}FAILED: (.*)$/gm)) total.failures.push(`${name}: ${why}`)
  count(name, r, { passed: Number(passed), failed: Number(failed) }, began)
}

/** Files of tests of whole nodes that run at a time on this machine. */
function e2eWorkers() {
  const byProcessors = E2E_WORKERS_PER_PROCESSOR * os.availableParallelism()
  return Math.max(2, Math.min(byProcessors, E2E_WORKERS_MAX, Math.floor(os.totalmem() / E2E_WORKER_BYTES)))
}

/** The steps of vitest, one after the other; that of whole nodes has the conformance tests too. */
async function typescript() {
  await vitest('unit', 'test/unit')
  await vitest('types', 'test/unit', '--typecheck.only')
  if (mode === 'quick') return
  // One step, so that the files of the one fill the processors beside the last ones of the other.
  await vitest('e2e', 'test', 'test/e2e/', 'test/conformance/', `--maxWorkers=${e2eWorkers()}`)
}

const built = await run(process.execPath, ['native/setup/build.mjs'])
if (built.code !== 0) {
  console.log('0 passed, 1 failed')
  process.exit(1)
}
total.steps.push(`build: ${spanSince(start)}`)
await Promise.all([rust(), typescript()])
if (mode === 'full') {
  await runner('sanitizer', ['test/sanitizer.mjs'])
  await runner('abuse', ['test/abuse/run.mjs'])
  await runner('nodes', ['native/setup/build.mjs', 'sandboxes'], ['test/nodes.mjs'])
}

console.log('')
for (const { name, seconds } of total.files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SLOWEST_SHOWN))
  console.log(`${seconds.toFixed(1)} s: ${name}`)
for (const step of total.steps) console.log(step)
console.log(`all steps: ${Math.round((Date.now() - start) / 1000)} s`)
for (const skipped of total.skipped) console.log(skipped)
for (const peer of total.peers) console.log(peer)
for (const failure of total.failures) console.log(`FAILED: ${failure}`)
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exit(total.failed ? 1 : 0)
