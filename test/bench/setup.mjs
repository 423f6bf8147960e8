// How long a new user waits: `npm start` in a fresh clone until the first answer, with empty and
// with warm caches, the installation of the packages, and `npm test`.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ROOT } from '../../native/setup/env.mjs'
import { Connection, call } from './dev-nodes.mjs'
import { freePort } from './process.mjs'
import { table } from './stats.mjs'

/** Time for one row, in milliseconds. */
const ROW_MS_MAX = 3_600_000

/** Between two attempts to reach the node, in milliseconds. */
const LOOK_MS = 100

/** What each row may take, in seconds. */
const WANTED = { cold: 420, again: 10, warm: 60, packages: 20, coldTests: 4_500, tests: 900 }

const seconds = (since) => (performance.now() - since) / 1000

function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { stdio: ['ignore', 2, 2], ...options })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${error?.message ?? status}`)
}

function clone(dir) {
  run('git', ['clone', '--quiet', ROOT, dir])
  return dir
}

/** Seconds from `npm start` until the node has answered. */
async function startSeconds(dir, env) {
  const port = await freePort()
  const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${await freePort()}`, `--metrics.port=${await freePort()}`]
  const began = performance.now()
  // A group of its own: npm starts a shell, which starts set-up and the node.
  const child = spawn('npm', ['start', '--', ...ports], { cwd: dir, env, stdio: ['ignore', 2, 2], detached: true })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  const question = call(url, 'eth_chainId', [])
  try {
    for (;;) {
      const answer = await Connection.open(url).then(
        (connection) => connection.ask(question).finally(() => connection.close()),
        () => undefined,
      )
      if (answer?.includes('"result"')) return seconds(began)
      if (child.exitCode !== null || seconds(began) * 1000 > ROW_MS_MAX) throw new Error('npm start gave no node')
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  } finally {
    if (child.exitCode === null) process.kill(-child.pid, 'SIGTERM')
    await ended
  }
}

/**
 * Seconds that npm takes to install the packages in an empty folder, with nothing of them in its
 * cache.
 */
function installSeconds(dir, packages) {
  fs.mkdirSync(dir)
  const env = { ...process.env, npm_config_cache: path.join(dir, '.npm') }
  const began = performance.now()
  run('npm', ['install', '--no-audit', '--no-fund', '--silent', ...packages], { cwd: dir, env })
  return seconds(began)
}

/**
 * A folder for fresh clones, and an environment in which nothing is left of what earlier builds
 * fetched or made: our cache, cargo's and npm's.
 */
function fresh() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-setup-'))
  const at = (name) => path.join(folder, name)
  const caches = { HEARTH_CACHE: at('cache'), CARGO_HOME: at('cargo'), npm_config_cache: at('npm') }
  const { HEARTH_PROFILE: _, ...rest } = process.env
  return { folder, at, env: { ...rest, ...caches } }
}

/**
 * The bench behind `npm run bench -- setup`: the committed state of this checkout, in folders that
 * are removed.
 */
export async function setupBench() {
  const { folder, at, env } = fresh()
  const rows = []
  const row = (name, took, wanted) => rows.push([name, took.toFixed(1), `${wanted}${took > wanted ? '  NOT reached' : ''}`])
  try {
    const first = clone(at('first'))
    row('npm start in a fresh clone, all caches empty', await startSeconds(first, env), WANTED.cold)
    row('npm start again', await startSeconds(first, env), WANTED.again)
    row('npm start in another fresh clone', await startSeconds(clone(at('second')), env), WANTED.warm)
    run('npm', ['run', '--silent', 'pack:binary', '--', at('packages')], { cwd: first, env })
    const packages = fs.readdirSync(at('packages')).filter((name) => name.endsWith('.tgz'))
    const installed = installSeconds(
      at('project'),
      packages.map((name) => path.join(at('packages'), name)),
    )
    row('npm install of the packages in an empty folder', installed, WANTED.packages)
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
  table('setup', ['row', 'seconds', 'wanted'], rows)
}

/** Seconds of `npm test`, and the last line of its output. */
function testSeconds(dir, env) {
  const began = performance.now()
  const { stdout } = spawnSync('npm', ['test'], { cwd: dir, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 2], maxBuffer: 1 << 28 })
  const last = stdout.trimEnd().split('\n').at(-1) ?? ''
  const steps = stdout.match(/^(?:build|rust|unit|types|e2e|conformance): .*\d+ s$/gm) ?? []
  return { took: seconds(began), last, steps }
}

/**
 * The bench behind `npm run bench -- tests`: `npm test` in a fresh clone with all caches empty, and
 * again. HEARTH_FIXTURES names the recorded cases, which are not beside the clone.
 */
export async function testsBench() {
  const { folder, at, env } = fresh()
  const rows = []
  try {
    const dir = clone(at('first'))
    for (const [name, wanted] of [
      ['npm test in a fresh clone, all caches empty', WANTED.coldTests],
      ['npm test again', WANTED.tests],
    ]) {
      const { took, last, steps } = testSeconds(dir, env)
      rows.push([name, took.toFixed(0), String(wanted), last])
      for (const step of steps) console.log(`${name}: ${step}`)
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
  table('tests', ['row', 'seconds', 'wanted', 'result'], rows)
}
