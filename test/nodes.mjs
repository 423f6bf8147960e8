// Runs tests on each supported version of Node, out of npm, that this machine does not run on: V8,
// the engine of scripts and Node's own modules differ between them.
//
//   npm run test:nodes
//
// Ends with what failed and one line `N passed, N failed` over all versions; `npm run test:full`
// runs it as one of its steps.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { ROOT } from '../native/setup/env.mjs'
import { ENGINES, nodeRelease } from '../native/setup/isolated-vm.mjs'

/**
 * Prefixes of the files that run: all unit tests; tracers in JavaScript; of whole nodes those that
 * depend on Node's sockets, streams, signals, workers and modules; the packages.
 */
const TESTS = [
  'test/unit/',
  'test/e2e/cli.test.ts',
  'test/e2e/dev.test.ts',
  'test/e2e/dev-first-minute.test.ts',
  'test/e2e/hooks.test.ts',
  'test/e2e/import.test.ts',
  'test/e2e/js',
  'test/e2e/package',
  'test/e2e/pipes.test.ts',
  'test/e2e/script-run.test.ts',
  'test/e2e/script-workers.test.ts',
  'test/e2e/start-file.test.ts',
  'test/e2e/stream.test.ts',
  'test/e2e/subscriptions.test.ts',
]

const total = { passed: 0, failed: 0 }
for (const [major, { node }] of Object.entries(ENGINES)) {
  // `npm test` runs them on this version, with all others.
  if (process.versions.node.split('.')[0] === major) continue
  const report = path.join(ROOT, `dist/.vitest-node${major}.json`)
  fs.rmSync(report, { force: true })
  const program = path.join(await nodeRelease(node), 'bin/node')
  console.log(`tests on Node ${node}`)
  const vitest = path.join(ROOT, 'node_modules/vitest/vitest.mjs')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  // Programs that tests start by name (npm, hearth) run on this version too.
  const env = { ...process.env, PATH: `${path.dirname(program)}${path.delimiter}${process.env.PATH ?? ''}` }
  const { status } = spawnSync(program, [vitest, 'run', ...reporters, ...TESTS], { cwd: ROOT, stdio: 'inherit', env })
  const { numPassedTests: passed = 0, testResults: files = [] } = fs.existsSync(report) ? JSON.parse(fs.readFileSync(report, 'utf8')) : {}
  const failures = files.flatMap(({ name, status, assertionResults }) => {
    const failed = assertionResults.filter((test) => test.status === 'failed').map(({ fullName }) => fullName)
    // A file that fails to load has no failed test in it.
    return (status === 'failed' && failed.length === 0 ? ['the file'] : failed).map((what) => `${path.relative(ROOT, name)}: ${what}`)
  })
  if (status !== 0 && failures.length === 0) failures.push(`vitest ended with ${status}`)
  for (const failure of failures) console.log(`  FAILED: Node ${major}: ${failure}`)
  total.passed += passed
  total.failed += failures.length
}
console.log(`${total.passed} passed, ${total.failed} failed`)
process.exit(total.failed === 0 ? 0 : 1)
