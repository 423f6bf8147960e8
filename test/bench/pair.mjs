// `npm run bench -- pair --against FOLDER`: this build beside an older one in another checkout, in
// turn on copies of the same chains: what a change costs everyday requests, traces, baked answers,
// the page of metrics, and imports.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { rate, requestBytes } from './bake/load.mjs'
import { generatedChain } from './chain.mjs'
import { freePort, HEARTH, run, started } from './process.mjs'
import { result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

/** Pairs a row, and milliseconds of each half; a row begins with so many that do not count. */
const PAIRS = 15
const HALF_MS = 500
const WARM_MS = 1500

/** Imports of each side. */
const IMPORTS = 3

/** A row loses where its median is below this and no pair reaches 1. */
const LEAST = 0.97

const BATCH = 100
const DIFFERENT = 997
const CHAIN = { blocks: 24, least: 200, most: 1400 }

/** Transactions of each block, for baked answers of these sizes. */
const BAKED = { '1 KB': 1, '10 KB': 12, '100 KB': 120 }
const BLOCKS = 64
const BAKING = ['--evm.trace_bake_enabled=true', '--evm.trace_cache_hot_bytes=1GiB']

const hex = (n) => `0x${n.toString(16)}`
const wire = (body) => requestBytes(JSON.stringify(body), 'identity')
const call = (method, params, id = 1) => ({ jsonrpc: '2.0', id, method, params })

/** Requests of each row on the chain of many kinds of calls. */
async function requestsOf(url) {
  const all = []
  for (let n = 1; n <= CHAIN.blocks; n++) all.push(...(await result(url, 'eth_getBlockByNumber', [hex(n), true])).transactions)
  const pick = (i) => all[(i * 7919) % all.length]
  const balance = (i) => call('eth_getBalance', [pick(i).from, 'latest'], i % BATCH)
  const many = (make) => Array.from({ length: DIFFERENT }, (_, i) => wire(make(i)))
  return {
    eth_getBalance: many(balance),
    [`batch of ${BATCH} eth_getBalance`]: many((i) => Array.from({ length: BATCH }, (_, k) => balance(i * BATCH + k))),
    eth_getTransactionReceipt: many((i) => call('eth_getTransactionReceipt', [pick(i).hash])),
    'callTracer of a transaction, executed': many((i) => call('debug_traceTransaction', [pick(i).hash, { tracer: 'callTracer' }])),
    'steps of a transaction, executed': many((i) => call('debug_traceTransaction', [pick(i).hash, {}])),
    'prestateTracer of a block, executed': many((i) =>
      call('debug_traceBlockByNumber', [hex(1 + (i % CHAIN.blocks)), { tracer: 'prestateTracer' }]),
    ),
  }
}

/** The program's node on a home of its own. */
async function serve(program, home, flags) {
  const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
  const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`]
  const running = await started(process.execPath, [program, 'start', '--home', home, ...ports, ...flags], port)
  return { ...running, port, metrics }
}

const cells = (rates, digits = 0) => {
  const ratios = rates.ours.map((r, i) => r / rates.old[i])
  const isLost = median(ratios) < LEAST && Math.max(...ratios) < 1
  return [spread(rates.ours, digits), spread(rates.old, digits), spread(ratios, 2), isLost ? `>= ${LEAST}: LOST` : `>= ${LEAST}: holds`]
}

/** One row: both sides in turn; `portOf` chooses the listener. */
async function pairs(sides, requests, portOf = (side) => side.port) {
  const rates = { ours: [], old: [] }
  for (const side of Object.values(sides)) await rate(portOf(side), requests, WARM_MS)
  for (let i = 0; i < PAIRS; i++)
    for (const name of i % 2 ? ['ours', 'old'] : ['old', 'ours']) rates[name].push(await rate(portOf(sides[name]), requests, HALF_MS))
  return cells(rates)
}

const importInto = (program, home, { dir }) =>
  run(process.execPath, [program, 'import', '--home', home, '--genesis', path.join(dir, 'genesis.json'), path.join(dir, 'chain.rlp')])

/** Imports the chain with each side in turn; keeps the last home of each. */
async function importRow(dir, programs) {
  const chain = await generatedChain(CHAIN)
  const rates = { ours: [], old: [] }
  for (let i = 0; i < IMPORTS; i++) {
    for (const name of i % 2 ? ['ours', 'old'] : ['old', 'ours']) {
      const home = path.join(dir, name)
      fs.rmSync(home, { recursive: true, force: true })
      const began = performance.now()
      importInto(programs[name], home, chain)
      rates[name].push((CHAIN.blocks * 1000) / (performance.now() - began))
    }
  }
  return [`import of ${CHAIN.blocks} blocks, with the start (blocks/s)`, ...cells(rates, 1)]
}

/** Runs `work` with a node of each side. */
async function withSides(programs, homes, flags, work) {
  const sides = { ours: await serve(programs.ours, homes.ours, flags), old: await serve(programs.old, homes.old, flags) }
  try {
    return await work(sides)
  } finally {
    for (const side of Object.values(sides)) await side.stop()
  }
}

/** Measures the pair, and prints its table. */
export async function pairBench() {
  const at = process.argv.indexOf('--against')
  const folder = at < 0 ? undefined : process.argv[at + 1]
  if (folder === undefined) throw new Error('name the checkout of the older build: --against FOLDER')
  const programs = { ours: HEARTH, old: path.join(path.resolve(folder), 'dist/cli/hearth.cjs') }
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-pair-'))
  const rows = []
  try {
    rows.push(await importRow(dir, programs))
    const homes = { ours: path.join(dir, 'ours'), old: path.join(dir, 'old') }
    await withSides(programs, homes, [], async (sides) => {
      for (const [name, requests] of Object.entries(await requestsOf(sides.ours.url))) rows.push([name, ...(await pairs(sides, requests))])
      const page = [Buffer.from('GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n')]
      rows.push(['page of metrics', ...(await pairs(sides, page, (side) => side.metrics))])
    })
    const traces = Array.from({ length: BLOCKS }, (_, i) => wire(call('debug_traceBlockByNumber', [hex(i + 1), { tracer: 'callTracer' }])))
    for (const [name, transactions] of Object.entries(BAKED)) {
      const chain = await generatedChain({ blocks: BLOCKS, least: transactions, most: transactions })
      const baked = Object.fromEntries(Object.keys(programs).map((side) => [side, path.join(dir, `${side}-${transactions}`)]))
      for (const [side, home] of Object.entries(baked)) {
        importInto(programs[side], home, chain)
        run(process.execPath, [programs[side], 'bake', '--home', home, '--from', '1', '--to', String(BLOCKS), ...BAKING])
      }
      await withSides(programs, baked, BAKING, async (sides) => {
        rows.push([`baked trace of ${name}`, ...(await pairs(sides, traces))])
      })
    }
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
  const heading = ['row (requests/s)', 'this build', 'the older one', 'ratio', 'wanted']
  table('pair', heading, rows, `This build beside the one in ${path.basename(path.resolve(folder))}, in turn`)
}
