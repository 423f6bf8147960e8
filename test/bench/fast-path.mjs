// The fast path of HTTP on and off: requests a second of two nodes on the same chain, in turns, on
// this Node and on the other supported versions, out of npm. `--node FILE` measures on that Node
// alone, and may be given several times.
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { ENGINES, nodeRelease } from '../../native/setup/isolated-vm.mjs'
import { rate, requestBytes } from './bake/load.mjs'
import { generatedChain } from './chain.mjs'
import { freePort, HEARTH, importChain, run, started } from './process.mjs'
import { result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

/** Pairs a row, and milliseconds of each half; a row begins with so many that do not count. */
const PAIRS = 5
const HALF_MS = 500
const WARM_MS = 1500

const BATCH = 100
const DIFFERENT = 997

/** Gain from which on the fast path is worth its code. */
const LEAST = 1.3

const BAKED = { '1 KB': 1, '10 KB': 12, '100 KB': 120 }
const BAKING = ['--evm.trace_bake_enabled=true', '--evm.trace_cache_hot_bytes=1GiB']
const BLOCKS = 64

const hex = (n) => `0x${n.toString(16)}`
const call = (method, params, id = 1) => ({ jsonrpc: '2.0', id, method, params })
const wire = (body) => requestBytes(JSON.stringify(body), 'identity')

/** Requests of each row that is no trace, from the senders of the chain. */
async function reads(url, blocks) {
  const senders = []
  for (let n = 1; n <= blocks; n++)
    senders.push(...(await result(url, 'eth_getBlockByNumber', [hex(n), true])).transactions.map(({ from }) => from))
  const balance = (i) => call('eth_getBalance', [senders[(i * 7919) % senders.length], 'latest'], i % BATCH)
  const batch = (i) => Array.from({ length: BATCH }, (_, k) => balance(i * BATCH + k))
  return {
    eth_getBalance: Array.from({ length: DIFFERENT }, (_, i) => wire(balance(i))),
    [`batch of ${BATCH} eth_getBalance`]: Array.from({ length: BATCH }, (_, i) => wire(batch(i))),
  }
}

/** One node on a copy of a home. */
async function serve(node, home, isOn) {
  const copy = fs.mkdtempSync(`${home}-`)
  fs.cpSync(home, copy, { recursive: true })
  const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
  const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`]
  const running = await started(node, [HEARTH, 'start', '--home', copy, ...ports, ...BAKING, `--evm.http_fast_path=${isOn}`], port)
  return { ...running, port }
}

async function pairs(sides, requests) {
  const rates = { on: [], off: [] }
  for (const side of Object.values(sides)) await rate(side.port, requests, WARM_MS)
  for (let i = 0; i < PAIRS; i++)
    for (const name of i % 2 ? ['on', 'off'] : ['off', 'on']) rates[name].push(await rate(sides[name].port, requests, HALF_MS))
  const gain = median(rates.on.map((r, i) => r / rates.off[i]))
  return [spread(rates.on, 0), spread(rates.off, 0), `${gain.toFixed(2)}x`, gain >= LEAST ? `>= ${LEAST}: holds` : `>= ${LEAST}: LOST`]
}

/** The programs of `--node`; by default this Node and the other supported versions. */
async function nodes() {
  const named = process.argv.filter((_, i, all) => all[i - 1] === '--node')
  if (named.length > 0) return named.map((file) => path.resolve(file))
  const others = Object.entries(ENGINES).filter(([major]) => major !== process.versions.node.split('.')[0])
  const programs = [process.execPath]
  for (const [, { node }] of others) programs.push(path.join(await nodeRelease(node), 'bin/node'))
  return programs
}

/** Measures the fast path, and prints its table. */
export async function fastPathBench() {
  const programs = await nodes()
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-fast-path-'))
  const rows = []
  try {
    const home = path.join(dir, 'mixed')
    importChain(home, await generatedChain({ blocks: 24, least: 200, most: 1400 }))
    const baked = Object.fromEntries(Object.keys(BAKED).map((name) => [name, path.join(dir, name.replace(' ', ''))]))
    for (const [name, transactions] of Object.entries(BAKED)) {
      importChain(baked[name], await generatedChain({ blocks: BLOCKS, least: transactions, most: transactions }))
      run(process.execPath, [HEARTH, 'bake', '--home', baked[name], '--from', '1', '--to', String(BLOCKS), ...BAKING])
    }
    const traces = Array.from({ length: BLOCKS }, (_, i) => wire(call('debug_traceBlockByNumber', [hex(i + 1), { tracer: 'callTracer' }])))
    for (const node of programs) {
      const version = execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
      /** @type {[at: string, requestsOf: (url: string) => Promise<Record<string, unknown>>][]} */
      const homes = [[home, (url) => reads(url, 24)]]
      for (const [name, at] of Object.entries(baked)) homes.push([at, async () => ({ [`baked trace, ${name}`]: traces })])
      for (const [at, requestsOf] of homes) {
        const sides = { on: await serve(node, at, true), off: await serve(node, at, false) }
        try {
          for (const [name, requests] of Object.entries(await requestsOf(sides.on.url)))
            rows.push([version, name, ...(await pairs(sides, requests))])
        } finally {
          await sides.on.stop()
          await sides.off.stop()
        }
      }
    }
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
  table('rpc', ['Node', 'request', 'on (requests/s)', 'off (requests/s)', 'on over off', 'target'], rows, 'HTTP fast path on and off')
}
