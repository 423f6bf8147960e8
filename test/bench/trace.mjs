// Trace speed over RPC: ours beside geth's on one generated chain, the answers compared first, in interleaved pairs.
import { spawn, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { ROOT } from '../../native/setup/env.mjs'
import { generatedChain } from './chain.mjs'
import { median, spread, table } from './stats.mjs'

/** Blocks grow from the first to the last, so that a row can be taken at either end. */
const CHAIN = { blocks: 24, least: 200, most: 1400 }

/** Interleaved pairs a row. */
const PAIRS = 7

/** Steps of the push/pop loop. */
const LOOP_STEPS = [100_000, 1_000_000, 10_000_000]

/** `JUMPDEST PUSH1 1 POP PUSH1 0 JUMP`, until the gas is used up: five steps for 17 gas. */
const LOOP = { code: '0x5b600150600056', steps: 5, gas: 17 }
const LOOP_ADDRESS = '0x00000000000000000000000000000000000d00d5'

const TRACERS = ['callTracer', 'prestateTracer', 'flatCallTracer']

/** An error stands at the beginning of an answer. */
const ERROR_WITHIN_BYTES = 100

/** Milliseconds that a node may take to answer for the first time. */
const START_MS = 60_000

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

/** A request's whole body as bytes and the milliseconds until its last one. */
async function ask(url, method, params, encoding = 'identity') {
  const began = process.hrtime.bigint()
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'accept-encoding': encoding },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  let bytes = 0
  for await (const chunk of response.body) {
    // An error comes fast, and must not be taken for a fast answer.
    if (bytes === 0 && Buffer.from(chunk.subarray(0, ERROR_WITHIN_BYTES)).includes('"error":{"code"'))
      throw new Error(Buffer.from(chunk).toString())
    bytes += chunk.length
  }
  return { ms: Number(process.hrtime.bigint() - began) / 1e6, bytes }
}

async function result(url, method, params) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const { result, error } = await response.json()
  if (error) throw new Error(`${method}: ${error.message}`)
  return result
}

/** JSON with its keys sorted. */
function canonical(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const keys = Object.keys(value).sort()
  return `{${keys.map((k) => `${JSON.stringify(k)}:${canonical(value[k])}`).join(',')}}`
}

async function started(command, args, port) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (d) => {
      log = (log + d).slice(-4000)
    })
  const url = `http://127.0.0.1:${port}`
  for (const until = Date.now() + START_MS; Date.now() < until; ) {
    try {
      await result(url, 'eth_blockNumber', [])
      return { url, pid: child.pid, stop: () => new Promise((resolve) => child.once('exit', resolve).kill('SIGTERM')) }
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  child.kill('SIGKILL')
  throw new Error(`${command} gave no answer in ${START_MS} ms:\n${log}`)
}

function run(command, args) {
  const r = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 1 << 28 })
  if (r.status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${r.status ?? r.signal}:\n${r.stderr?.slice(-2000)}`)
}

async function startHearth(chain, home) {
  const bin = [path.join(ROOT, 'dist/cli/main.js')]
  run(process.execPath, [
    ...bin,
    'import',
    '--home',
    home,
    '--genesis',
    path.join(chain.dir, 'genesis.json'),
    path.join(chain.dir, 'chain.rlp'),
  ])
  const [port, ws] = [await freePort(), await freePort()]
  return started(process.execPath, [...bin, 'start', '--home', home, `--evm.http_port=${port}`, `--evm.ws_port=${ws}`], port)
}

async function startGeth(chain, home) {
  const archive = ['--datadir', home, '--state.scheme', 'hash', '--gcmode', 'archive']
  run('geth', ['init', '--datadir', home, '--state.scheme', 'hash', path.join(chain.dir, 'genesis.json')])
  run('geth', ['import', ...archive, '--nocompaction', path.join(chain.dir, 'chain.rlp')])
  const [port, auth] = [await freePort(), await freePort()]
  const quiet = ['--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--authrpc.port', String(auth)]
  return started('geth', [...archive, ...quiet, '--http', '--http.port', String(port), '--http.api', 'eth,debug'], port)
}

/** Peak resident memory of a process since it began, in MiB; undefined where the system does not say. */
function peakMiB(pid) {
  const file = `/proc/${pid}/status`
  const kib = fs.existsSync(file) && /VmHWM:\s+(\d+)/.exec(fs.readFileSync(file, 'utf8'))?.[1]
  return kib ? Number(kib) / 1024 : undefined
}

/** A row; one that fails says so and does not end the bench. */
async function row(name, sides, method, params, options) {
  try {
    return await pair(name, sides, method, params, options)
  } catch (e) {
    return [name, 'failed', '', '', e.message]
  }
}

/** One row: both sides asked in turn, their answers compared first where `compare` says so. */
async function pair(name, sides, method, params, { compare = true, pairs = PAIRS, encoding, unit } = {}) {
  const { ours, theirs } = sides
  let equal = 'not compared'
  if (compare && theirs) {
    const [have, want] = [await result(ours.url, method, params), await result(theirs.url, method, params)]
    equal = canonical(have) === canonical(want) ? 'equal' : 'DIFFERENT'
  }
  const times = { ours: [], theirs: [] }
  await ask(ours.url, method, params, encoding)
  if (theirs) await ask(theirs.url, method, params, encoding)
  for (let i = 0; i < pairs; i++) {
    const order = i % 2 ? ['theirs', 'ours'] : ['ours', 'theirs']
    for (const side of order) if (sides[side]) times[side].push((await ask(sides[side].url, method, params, encoding)).ms)
  }
  const shown = (list) => (list.length ? spread(list.map(unit ?? ((ms) => ms)), unit ? 2 : 1) : 'skipped')
  const ratio = times.theirs.length
    ? `${spread(
        times.ours.map((ms, i) => times.theirs[i] / ms),
        2,
      )}`
    : ''
  const losing = times.theirs.length && median(times.theirs.map((ms, i) => ms / times.ours[i])) < 1 ? '  LOSING' : ''
  return [name, shown(times.ours), shown(times.theirs), `${ratio}${losing}`, equal]
}

async function blockRows(chain, sides) {
  const rows = []
  for (const number of [1, chain.blocks]) {
    const tag = `0x${number.toString(16)}`
    const block = await result(sides.ours.url, 'eth_getBlockByNumber', [tag, false])
    const [first, last] = [block.transactions[0], block.transactions.at(-1)]
    const size = `${block.transactions.length} transactions, ${(Number(block.gasUsed) / 1e6).toFixed(0)} Mgas`
    for (const tracer of TRACERS) {
      const name = `traceBlock ${tracer}, ${size} (ms)`
      rows.push(await row(name, sides, 'debug_traceBlockByNumber', [tag, { tracer, timeout: '300s' }]))
    }
    if (number !== chain.blocks) continue
    rows.push(
      await pair(`the same, callTracer, gzip (ms)`, sides, 'debug_traceBlockByNumber', [tag, { tracer: 'callTracer' }], {
        encoding: 'gzip',
      }),
    )
    rows.push(
      await pair('traceTransaction callTracer, the first of them (ms)', sides, 'debug_traceTransaction', [first, { tracer: 'callTracer' }]),
    )
    rows.push(
      await pair('traceTransaction callTracer, the last of them (ms)', sides, 'debug_traceTransaction', [last, { tracer: 'callTracer' }]),
    )
    rows.push(
      await pair(`struct logs of a block of ${size} (ms)`, sides, 'debug_traceBlockByNumber', [tag, {}], { compare: false, pairs: 3 }),
    )
  }
  return rows
}

async function loopRows(sides) {
  const rows = []
  for (const steps of LOOP_STEPS) {
    const gas = `0x${Math.ceil((steps / LOOP.steps) * LOOP.gas + 21_000).toString(16)}`
    const config = { timeout: '300s', stateOverrides: { [LOOP_ADDRESS]: { code: LOOP.code } } }
    const params = [{ to: LOOP_ADDRESS, gas }, 'latest', config]
    // geth holds the whole answer in memory: ten million steps would be gigabytes.
    const peer = steps > 1_000_000 ? { ours: sides.ours } : sides
    const before = peakMiB(sides.ours.pid)
    const loop = await row(`struct logs, ${steps / 1e6} M steps (M steps/s)`, peer, 'debug_traceCall', params, {
      compare: false,
      pairs: 3,
      unit: (ms) => steps / 1e3 / ms,
    })
    const after = peakMiB(sides.ours.pid)
    rows.push(loop)
    if (before !== undefined && after !== undefined) rows.push([`  memory that they added (MiB)`, (after - before).toFixed(0), '', '', ''])
  }
  return rows
}

/** The bench behind `npm run bench -- trace`. */
export async function traceBench() {
  const chain = await generatedChain(CHAIN)
  const homes = [0, 1].map(() => fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-trace-')))
  const sides = { ours: await startHearth(chain, homes[0]) }
  try {
    if (spawnSync('geth', ['version']).status === 0) sides.theirs = await startGeth(chain, homes[1])
    else console.log('skipped: geth is not on the PATH, so nothing to compare with')
    const rows = [...(await blockRows(chain, sides)), ...(await loopRows(sides))]
    table('trace', ['row', 'hearth', 'geth', 'geth over hearth', 'answers'], rows)
  } finally {
    await sides.ours.stop()
    await sides.theirs?.stop()
    for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
  }
}
