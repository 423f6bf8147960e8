// The everyday methods compared with geth's on the same imported chain: requests per second and p99
// from one client process; and 1,000 subscribers of new heads on a development chain of each.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import WebSocket from 'ws'
import { generatedChain } from './chain.mjs'
import { load, p99, wire } from './load.mjs'
import { freePort, HEARTH, importChain, serveHearth, started } from './process.mjs'
import { canonical, result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'
import { startGeth } from './trace.mjs'

const CHAIN = { blocks: 24, least: 200, most: 1400 }

/**
 * Rounds of a row, the sides in turn; the duration of each, and that of the warm-up before it, in
 * milliseconds.
 */
const ROUNDS = 5
const ROUND_MS = 1000
const WARM_MS = 700

/** Connections that the client keeps busy. */
const CONNECTIONS = 8

/** Requests of one batch. */
const BATCH = 100

const SUBSCRIBERS = 1000
/** Heads that subscribers are notified of. */
const HEADS = 21

const TOKEN = '0x00000000000000000000000000000000000aaaaa'
/** Hashes in a loop. */
const HASHER = '0x00000000000000000000000000000000000bbbbb'
/** How many different requests a row goes through. */
const DIFFERENT = 997

const hex = (n) => `0x${n.toString(16)}`

/** Parameters of each row, taken from the chain. */
async function rowsOf(url, blocks) {
  const all = []
  for (let n = 1; n <= blocks; n++) all.push(await result(url, 'eth_getBlockByNumber', [hex(n), true]))
  const transactions = all.flatMap((block) => block.transactions)
  const pick = (list, i) => list[(i * 7919) % list.length]
  const tokens = transactions.filter((t) => t.to === TOKEN)
  const topic = (address) => `0x${address.slice(2).padStart(64, '0')}`
  const balance = (i) => ['eth_getBalance', [pick(transactions, i).from, 'latest']]
  return {
    eth_call: (i) => ['eth_call', [{ to: HASHER, data: `0x${i.toString(16).padStart(64, '0')}` }, 'latest']],
    eth_getBalance: balance,
    'eth_getBlockByNumber, full': (i) => ['eth_getBlockByNumber', [hex(1 + (i % blocks)), true]],
    eth_getTransactionReceipt: (i) => ['eth_getTransactionReceipt', [pick(transactions, i).hash]],
    'eth_getLogs of a token and a sender, all blocks': (i) => [
      'eth_getLogs',
      [{ fromBlock: '0x1', toBlock: hex(blocks), address: TOKEN, topics: [topic(pick(tokens, i).from)] }],
    ],
    [`batch of ${BATCH} eth_getBalance`]: (i) => Array.from({ length: BATCH }, (_, k) => balance(i * BATCH + k)),
  }
}

const call = ([method, params], id) => ({ jsonrpc: '2.0', id, method, params })
const bodyOf = (asked) => JSON.stringify(typeof asked[0] === 'string' ? call(asked, 1) : asked.map(call))

async function answer(url, body) {
  const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  return canonical(await response.json())
}

/** One row: the answers compared first, then rounds in turn. */
async function row(name, sides, make) {
  const different = Math.min(DIFFERENT, name.includes('full') ? CHAIN.blocks : DIFFERENT)
  const bodies = Array.from({ length: different }, (_, i) => bodyOf(make(i)))
  let equal = 'not compared'
  if (sides.theirs) {
    equal = 'equal'
    for (const body of bodies.slice(0, 5))
      if ((await answer(sides.ours.url, body)) !== (await answer(sides.theirs.url, body))) equal = 'DIFFERENT'
  }
  const names = Object.keys(sides)
  const measured = Object.fromEntries(names.map((side) => [side, { rates: [], took: [] }]))
  const next = Object.fromEntries(
    names.map((side) => {
      const requests = bodies.map((body) => wire(sides[side].url, body))
      let i = 0
      return [side, () => requests[i++ % requests.length]]
    }),
  )
  for (const side of names) await load(sides[side].url, next[side], { ms: WARM_MS, connections: CONNECTIONS })
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of round % 2 ? [...names].reverse() : names) {
      const { took, perSecond } = await load(sides[side].url, next[side], { ms: ROUND_MS, connections: CONNECTIONS })
      measured[side].rates.push(perSecond)
      for (const ms of took) measured[side].took.push(ms)
    }
  }
  const { ours, theirs } = measured
  if (!theirs) return [name, spread(ours.rates, 0), p99(ours.took).toFixed(2), 'skipped', '', '', equal]
  const ratios = ours.rates.map((rate, i) => rate / theirs.rates[i])
  const losing = median(ratios) < 1 || p99(ours.took) > p99(theirs.took) ? '  LOSING' : ''
  const cells = [spread(ours.rates, 0), p99(ours.took).toFixed(2), spread(theirs.rates, 0), p99(theirs.took).toFixed(2)]
  return [name, ...cells, `${spread(ratios, 2)}${losing}`, equal]
}

/** Opens connections, each with one subscription; `heard` is called with every notification. */
async function subscribers(url, heard) {
  const sockets = []
  for (let i = 0; i < SUBSCRIBERS; i++) {
    const socket = new WebSocket(url)
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    await new Promise((resolve) => {
      socket.once('message', () => {
        socket.on('message', heard)
        resolve(undefined)
      })
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }))
    })
    sockets.push(socket)
  }
  return sockets
}

/**
 * Milliseconds from sending a transaction until all subscribers have received its block, for each
 * of several blocks.
 */
async function fanOut({ url, ws }) {
  let heard = 0
  /** @type {(value?: unknown) => void} */
  let done = () => undefined
  const sockets = await subscribers(ws, () => {
    heard++
    if (heard === SUBSCRIBERS) done()
  })
  const [from] = await result(url, 'eth_accounts', [])
  const times = []
  for (let i = 0; i < HEADS; i++) {
    heard = 0
    const all = new Promise((resolve) => {
      done = resolve
    })
    const began = performance.now()
    await result(url, 'eth_sendTransaction', [{ from, to: from, value: '0x1' }])
    await all
    times.push(performance.now() - began)
    // Late ones of this head must not count for the next.
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  for (const socket of sockets) socket.terminate()
  return times.slice(1)
}

async function devHearth(home) {
  const [port, ws, metrics] = [await freePort(), await freePort(), await freePort()]
  const flags = [`--evm.http_port=${port}`, `--evm.ws_port=${ws}`, `--metrics.port=${metrics}`]
  return { ...(await started(process.execPath, [HEARTH, 'dev', '--home', home, ...flags], port)), ws: `ws://127.0.0.1:${ws}` }
}

async function devGeth(home) {
  const [port, ws, auth] = [await freePort(), await freePort(), await freePort()]
  const quiet = ['--datadir', home, '--nodiscover', '--maxpeers', '0', '--port', '0', '--ipcdisable', '--authrpc.port', String(auth)]
  const open = ['--http', '--http.port', String(port), '--http.api', 'eth', '--ws', '--ws.port', String(ws), '--ws.api', 'eth']
  return { ...(await started('geth', ['--dev', ...quiet, ...open], port)), ws: `ws://127.0.0.1:${ws}` }
}

async function subscriberRow(homes, withGeth) {
  const measured = {}
  /** @type {[side: string, start: typeof devGeth][]} */
  const sides = [['ours', devHearth], ...(withGeth ? [/** @type {[string, typeof devGeth]} */ (['theirs', devGeth])] : [])]
  for (const [side, start] of sides) {
    const node = await start(homes[side])
    try {
      measured[side] = await fanOut(node)
    } finally {
      await node.stop()
    }
  }
  const { ours, theirs } = measured
  const name = `${SUBSCRIBERS} subscribers, from sending a transaction to the last one's notification (ms)`
  if (!theirs) return [name, spread(ours), '', 'skipped', '', '', '']
  const ratio = median(theirs) / median(ours)
  return [
    name,
    spread(ours),
    p99(ours).toFixed(1),
    spread(theirs),
    p99(theirs).toFixed(1),
    `${ratio.toFixed(2)}${ratio < 1 ? '  LOSING' : ''}`,
    'not in turn',
  ]
}

/** The bench behind `npm run bench -- rpc`. */
export async function everydayBench() {
  const chain = await generatedChain(CHAIN)
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-rpc-'))
  const home = (name) => path.join(dir, name)
  const withGeth = spawnSync('geth', ['version']).status === 0
  if (!withGeth) console.log('skipped: geth is not on the PATH, so nothing to compare with')
  const sides = {}
  const rows = []
  try {
    importChain(home('ours'), chain)
    sides.ours = await serveHearth(home('ours'))
    if (withGeth) sides.theirs = await startGeth(chain, home('theirs'))
    for (const [name, make] of Object.entries(await rowsOf(sides.ours.url, chain.blocks))) {
      rows.push(await row(name, sides, make))
      console.log(rows.at(-1).join('  '))
    }
    await Promise.all(Object.values(sides).map((side) => side.stop()))
    rows.push(await subscriberRow({ ours: home('dev'), theirs: home('geth-dev') }, withGeth))
    table('rpc', ['row', 'hearth (requests/s)', 'p99 (ms)', 'geth (requests/s)', 'p99 (ms)', 'hearth over geth', 'answers'], rows)
  } finally {
    await Promise.all(Object.values(sides).map((side) => side.stop()))
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
