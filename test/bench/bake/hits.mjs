// Hits of the trace cache: compared with a bare node:http server that sends the same bytes, and the
// size of the cache.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import zlib from 'node:zlib'
import { generatedChain } from '../chain.mjs'
import { freePort, HEARTH, importChain, run, serveHearth, started } from '../process.mjs'
import { median, spread, table } from '../stats.mjs'
import { rate, requestBytes } from './load.mjs'

/**
 * Sizes of answers: the number of transactions in a block that makes about so many bytes, and the
 * number of such blocks.
 */
const SIZES = [
  { name: '1 KB', transactions: 1, blocks: 256 },
  { name: '10 KB', transactions: 12, blocks: 256 },
  { name: '100 KB', transactions: 120, blocks: 64 },
  { name: '1 MB', transactions: 1200, blocks: 24 },
]

/** Interleaved pairs a row, and milliseconds of each half. */
const PAIRS = 7
const HALF_MS = 700
/**
 * Milliseconds until the engine of either server has compiled hot functions: with less, the rate of
 * Hearth still grows.
 */
const WARM_MS = 6000

/** An answer of the hot cache must be so fast, as a part of the bare server's rate. */
const HOT_LEAST = 0.85

/**
 * Plain answers that are stored uncompressed, beyond the hot cache, as a part of the bare server's
 * rate.
 */
const PLAIN_LEAST = 0.8

/** gzip answers beyond the hot cache, as a part of the rate of plain ones within it. */
const GZIP_LEAST = 0.8

/** Stored bytes, as a part of what `gzip -6` makes of the whole block. */
const STORED_MOST = 1.15

const bodyOf = (number) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'debug_traceBlockByNumber',
    params: [`0x${number.toString(16)}`, { tracer: 'callTracer' }],
  })

/** The answer as text, and where it came from. */
async function answerTo(url, body, encoding = 'identity') {
  const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/json', 'accept-encoding': encoding } })
  const from = response.headers.get('x-hearth-trace')
  if (from !== 'baked') throw new Error(`an answer came from ${from}: ${(await response.text()).slice(0, 200)}`)
  return {
    text: await response.text(),
    packed: response.headers.get('content-encoding') === 'gzip' ? Number(response.headers.get('content-length')) : 0,
  }
}

const portOf = (node) => Number(new URL(node.url).port)

/** Ports of servers that have been warmed up. */
const warm = new Set()

async function warmUp({ port, requests }) {
  await rate(port, requests, warm.has(port) ? HALF_MS : WARM_MS)
  warm.add(port)
}

/** The rates of two servers in turn, warm. */
async function pairs(ours, theirs) {
  await warmUp(ours)
  await warmUp(theirs)
  const rates = { ours: [], theirs: [] }
  for (let i = 0; i < PAIRS; i++) {
    const sides = [
      [rates.ours, ours],
      [rates.theirs, theirs],
    ]
    for (const [list, { port, requests }] of i % 2 ? sides.reverse() : sides) list.push(await rate(port, requests, HALF_MS))
  }
  return { ...rates, part: median(rates.ours.map((r, i) => r / rates.theirs[i])) }
}

const verdict = (part, least) => (least === undefined ? '' : part >= least ? `>= ${least}: holds` : `>= ${least}: LOST`)

const row = (name, what, { ours, theirs, part }, least) => [
  name,
  what,
  spread(ours, 0),
  spread(theirs, 0),
  `${part.toFixed(2)}x`,
  verdict(part, least),
]

const settings = (hotBytes) => ['--evm.trace_bake_enabled=true', `--evm.trace_cache_hot_bytes=${hotBytes}`]

/** Blocks of one size: imported, baked, served, measured. */
async function size({ name, transactions, blocks }, dir, rows, stored) {
  const chain = await generatedChain({ blocks, least: transactions, most: transactions })
  const home = path.join(dir, name.replace(' ', ''))
  importChain(home, chain)
  const level0 = `${home}-uncompressed`
  fs.cpSync(home, level0, { recursive: true })
  const bake = (at, ...more) =>
    run(process.execPath, [HEARTH, 'bake', '--home', at, '--from', '1', '--to', String(blocks), ...settings(0), ...more])
  bake(level0, '--evm.trace_cache_gzip_level=0')
  bake(home)
  // A home that a second node may have.
  const copy = `${home}-copy`
  fs.cpSync(home, copy, { recursive: true })
  const bodies = Array.from({ length: blocks }, (_, i) => bodyOf(i + 1))
  const plain = bodies.map((body) => requestBytes(body, 'identity'))
  const packed = bodies.map((body) => requestBytes(body, 'gzip'))
  const file = path.join(dir, 'answers')
  const barePort = await freePort()

  // Within the hot cache.
  const node = await serveHearth(home, settings('1GiB'))
  let raw = 0
  let gzip = 0
  let members = 0
  let bare
  try {
    const lines = []
    for (const body of bodies) {
      const { text } = await answerTo(node.url, body)
      const again = await answerTo(node.url, body, 'gzip')
      if (again.text !== text) throw new Error('gzip and plain answers differ')
      raw += text.length
      gzip += zlib.gzipSync(text, { level: 6 }).length
      members += again.packed || text.length
      lines.push(JSON.stringify({ body, answer: text }))
    }
    fs.writeFileSync(file, lines.join('\n'))
    bare = await started(process.execPath, [path.join(import.meta.dirname, 'bare.mjs'), String(barePort), file], barePort)
    const theirs = { port: barePort, requests: plain }
    const hot = await pairs({ port: portOf(node), requests: plain }, theirs)
    rows.push(row(name, 'hot plain, beside bare node:http', hot, HOT_LEAST))
    const over = 'over four times the hot cache, beside'
    const beyond = async (at, measure) => {
      const cold = await serveHearth(at, settings(Math.ceil(raw / 4)))
      try {
        await measure(portOf(cold))
      } finally {
        await cold.stop()
      }
    }
    await beyond(level0, async (port) => {
      const rates = await pairs({ port, requests: plain }, theirs)
      rows.push(row(name, `plain, stored uncompressed, ${over} bare node:http`, rates, PLAIN_LEAST))
    })
    await beyond(copy, async (port) => {
      rows.push(row(name, `plain ${over} bare node:http`, await pairs({ port, requests: plain }, theirs)))
      const both = await pairs({ port, requests: packed }, { port: portOf(node), requests: plain })
      rows.push(row(name, `gzip ${over} hot plain`, both, GZIP_LEAST))
    })
  } finally {
    await bare?.stop()
    await node.stop()
  }
  const files = bytesOf(path.join(home, 'data/trace_db'))
  const part = files / gzip
  stored.push([
    name,
    Math.round(raw / blocks),
    Math.round(members / blocks),
    Math.round(gzip / blocks),
    Math.round(files / blocks),
    `${part.toFixed(3)}x`,
    part <= STORED_MOST ? `<= ${STORED_MOST}: holds` : `<= ${STORED_MOST}: LOST`,
    (files / chain.transactions).toFixed(1),
    ((files * 1e6) / chain.gas).toFixed(0),
  ])
}

/** Bytes of the files in a folder. */
function bytesOf(dir) {
  const files = fs.readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.reduce((sum, entry) => sum + fs.statSync(path.join(entry.parentPath, entry.name)).size, 0)
}

/** Measures hits of these sizes, and prints both tables. */
export async function hitsTables(sizes = SIZES) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-hits-'))
  const [rows, stored] = [[], []]
  try {
    for (const one of sizes) await size(one, dir, rows, stored)
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
  table('bake', ['answer', 'row', 'answers/s', 'beside', 'part', 'target'], rows, 'Hits of the trace cache')
  const heading = [
    'answer',
    'plain bytes',
    'gzip answer',
    'gzip -6',
    'stored, with its index',
    'part of gzip -6',
    'target',
    'a transaction',
    'a million gas',
  ]
  table('bake', heading, stored, 'Bytes of the trace cache, a block of callTracer')
}

// By itself: all sizes, or those that are named.
if (process.argv[1] === import.meta.filename) {
  const names = process.argv.slice(2)
  await hitsTables(SIZES.filter(({ name }) => names.length === 0 || names.includes(name)))
}
