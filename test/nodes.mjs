// Runs the tests of JavaScript tracers on each supported version of Node, out of npm: V8 and the engine of scripts differ between them.
//
//   npm run test:nodes
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { ROOT } from '../native/setup/env.mjs'
import { ENGINES, nodeRelease } from '../native/setup/isolated-vm.mjs'

const TESTS = ['test/unit/tracer-', 'test/e2e/js', 'test/e2e/hooks.test.ts']

let failed = 0
for (const { node } of Object.values(ENGINES)) {
  // This version runs them with all others.
  if (node === process.versions.node) continue
  const program = path.join(await nodeRelease(node), 'bin/node')
  console.error(`tests of JavaScript tracers on Node ${node}`)
  const vitest = [path.join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', ...TESTS]
  const { status } = spawnSync(program, vitest, { cwd: ROOT, stdio: 'inherit' })
  if (status !== 0) failed++
}
process.exit(failed === 0 ? 0 : 1)
