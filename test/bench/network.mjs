// A network under CometBFT: Hearth beside CometBFT's own kvstore as the application, with
// transactions
// of equal bytes over the same kind of socket, in pairs of one run.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { mnemonicToAccount } from 'viem/accounts'
import { cometbftProgram } from '../cometbft-programs.mjs'
import { freePort, HEARTH, run } from './process.mjs'
import { result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

const VERSION = '0.38.26'
const CHAIN = 7357
const MNEMONIC = 'test test test test test test test test test test test junk'

/** Pairs of measurements, Hearth and kvstore in turn. */
const ROUNDS = Number(process.env.HEARTH_TEST_NETWORK_ROUNDS ?? 3)

/** Transactions of a measurement, and the accounts that send them. */
const TRANSACTIONS = Number(process.env.HEARTH_TEST_NETWORK_TXS ?? 10_000)
const SENDERS = Math.min(1000, Math.ceil(TRANSACTIONS / 10))

/** Connections that send at the same time, and broadcasts whose commit is timed. */
const [CONNECTIONS, TIMED] = [16, 30]

/**
 * CometBFT's timeout_commit on both sides, in milliseconds. With its default of 1 s the gas limit
 * of 30,000,000 a block would be the rate: 1,428 transfers a second.
 */
const TIMEOUT_COMMIT_MS = 250

/** Blocks without transactions that are timed. */
const EMPTY_BLOCKS = 50

/** What the issue of networks wants. */
const WANTED = { ratio: 0.5, one: 784, executions: 1, emptyMs: 3, seen: 0.1, commit: 1.05 }

/** Pause between two looks, in milliseconds. */
const POLL_MS = 20

const losing = (isLosing) => (isLosing ? '  LOSING' : '')
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
const agent = new http.Agent({ keepAlive: true, maxSockets: CONNECTIONS })

/** A call of CometBFT's RPC: its result. */
export async function comet(port, method, params = {}) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const options = { host: '127.0.0.1', port, method: 'POST', headers, agent }
  const response = await new Promise((resolve, reject) => http.request(options, resolve).once('error', reject).end(body))
  const answer = JSON.parse(Buffer.concat(await response.toArray()).toString())
  if (answer.error) throw new Error(`${method}: ${JSON.stringify(answer.error)}`)
  return answer.result
}

export async function until(what, holds, ms = 60_000) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(POLL_MS)) if (await holds().catch(() => false)) return
  throw new Error(`not in ${ms} ms: ${what}`)
}

export const heightOf = async (port) => Number((await comet(port, 'status')).sync_info.latest_block_height)

/** Signed transfers: for each connection the raw bytes in the order of their nonces. */
async function transfers() {
  const accounts = Array.from({ length: SENDERS }, (_, i) => mnemonicToAccount(MNEMONIC, { addressIndex: i }))
  const lanes = Array.from({ length: CONNECTIONS }, () => [])
  for (let i = 0; i < TRANSACTIONS + 2 * TIMED; i++) {
    const sender = i % SENDERS
    /** @type {import('viem').TransactionSerializableLegacy} */
    const fee = { type: 'legacy', gas: 21_000n, gasPrice: 20_000_000_000n }
    const raw = await accounts[sender].signTransaction({
      ...fee,
      chainId: CHAIN,
      nonce: Math.floor(i / SENDERS),
      to: `0x${'ee'.repeat(20)}`,
      value: 1n,
    })
    lanes[sender % CONNECTIONS].push(Buffer.from(raw.slice(2), 'hex'))
  }
  return lanes
}

/** Transactions of kvstore of the same bytes: `key=value`, each key once. */
const pairsLike = (lanes) =>
  lanes.map((lane, l) => lane.map((tx, i) => Buffer.from(`${l}.${i}=`.padEnd(tx.length, `${(i * 7919) % 10}`)).subarray(0, tx.length)))

/** Ends child processes, the last one first. */
export async function end(children) {
  for (const child of children.toReversed()) {
    if (child.exitCode !== null || child.signalCode !== null) continue
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), 20_000)
    await gone
    clearTimeout(timer)
  }
}

export const child = (program, args, env = {}) => {
  const made = spawn(program, args.map(String), { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } })
  made.stderr.resume()
  return made
}

/**
 * Hearth as the application of so many validators, with a follower that bakes or not.
 *
 * @param {string} dir
 * @param {string} program
 * @param {number} validators
 * @param {{ follower?: { bakes: boolean }, timeoutMs?: number }} [options]
 */
async function ours(dir, program, validators, { follower, timeoutMs = TIMEOUT_COMMIT_MS } = {}) {
  const base = ((await freePort()) % 20_000) + 10_000
  const net = path.join(dir, 'net')
  const followers = follower === undefined ? [] : ['--followers', 1]
  const made = ['testnet', '--dir', net, '--validators', validators, ...followers, '--base-port', base]
  run(process.execPath, [HEARTH, ...made, '--chain-id', CHAIN, '--dev-accounts', SENDERS].map(String))
  const { nodes } = JSON.parse(fs.readFileSync(path.join(net, 'testnet.json'), 'utf8'))
  const flags = [`--consensus.cometbft_bin=${program}`, `--consensus.timeout_commit=${timeoutMs}ms`]
  const more = ['--txpool.max_transactions=200000', '--txpool.max_per_account=1000', '--txpool.max_bytes=256 MiB']
  const children = nodes.map(({ home, role }) => {
    const bakes = role === 'follower' ? [`--evm.trace_bake_enabled=${follower.bakes}`] : []
    return child(process.execPath, [HEARTH, 'start', '--home', home, ...flags, ...more, ...bakes])
  })
  const ports = nodes.map(({ ports }) => ports)
  for (const { rpc } of ports) await until('a first block', async () => (await heightOf(rpc)) > 1)
  return { ports, stop: () => end(children) }
}

/** CometBFT's kvstore as the application of so many validators. */
async function theirs(dir, program, abciCli, validators) {
  const base = ((await freePort()) % 20_000) + 10_000
  const net = path.join(dir, 'kvstore')
  const p2p = (i) => base + 10 * i
  run(
    program,
    ['testnet', '--v', validators, '--o', net, '--starting-ip-address', '127.0.0.1', '--populate-persistent-peers=false'].map(String),
  )
  const homes = Array.from({ length: validators }, (_, i) => path.join(net, `node${i}`))
  const ids = homes.map((home) => {
    const shown = fs.readFileSync(path.join(home, 'config/node_key.json'), 'utf8')
    return nodeIdOf(JSON.parse(shown).priv_key.value)
  })
  const children = []
  for (const [i, home] of homes.entries()) {
    const socket = path.join(home, 'kvstore.sock')
    children.push(child(abciCli, ['kvstore', '--address', `unix://${socket}`]))
    await until('the socket of kvstore', async () => fs.existsSync(socket))
    const peers = ids.flatMap((id, k) => (k === i ? [] : [`${id}@127.0.0.1:${p2p(k)}`])).join(',')
    const listen = [`--rpc.laddr=tcp://127.0.0.1:${p2p(i) + 1}`, `--p2p.laddr=tcp://127.0.0.1:${p2p(i)}`]
    const local = {
      CMT_P2P_ADDR_BOOK_STRICT: 'false',
      CMT_P2P_ALLOW_DUPLICATE_IP: 'true',
      CMT_P2P_PEX: 'false',
      CMT_MEMPOOL_SIZE: '200000',
      CMT_CONSENSUS_TIMEOUT_COMMIT: `${TIMEOUT_COMMIT_MS}ms`,
    }
    const args = ['start', '--home', home, `--proxy_app=unix://${socket}`, ...listen, `--p2p.persistent_peers=${peers}`]
    children.push(child(program, args, { ...local, CMT_LOG_LEVEL: 'error' }))
  }
  const ports = homes.map((_, i) => ({ rpc: p2p(i) + 1 }))
  for (const { rpc } of ports) await until('a first block of kvstore', async () => (await heightOf(rpc)) > 1)
  return { ports, stop: () => end(children) }
}

/** The id of a node by its key, base64 of seed and public key (p2p/key.go). */
const nodeIdOf = (key) => sha256(Buffer.from(key, 'base64').subarray(32)).subarray(0, 20).toString('hex')

const sha256 = (bytes) => createHash('sha256').update(bytes).digest()

/** Milliseconds from eth_sendRawTransaction to the receipt on the same node, one by one. */
async function receiptTimes(port, txs) {
  const ask = (method, ...params) => result(`http://127.0.0.1:${port}`, method, params)
  const times = []
  for (const tx of txs) {
    const began = performance.now()
    const hash = await ask('eth_sendRawTransaction', `0x${tx.toString('hex')}`)
    await until('a receipt', async () => (await ask('eth_getTransactionReceipt', hash)) !== null)
    times.push(performance.now() - began)
  }
  return times
}

/** Sends the transactions of all lanes to nodes in turn, and waits until blocks have them:
 * transactions a second, and milliseconds to a commit, and to a receipt where the nodes have
 * JSON-RPC. */
async function measure({ ports }, lanes) {
  const perLane = Math.ceil(TIMED / CONNECTIONS)
  const timed = lanes.map((lane) => lane.slice(0, perLane))
  const commits = []
  for (const lane of timed)
    for (const tx of lane) {
      const began = performance.now()
      const { check_tx, tx_result } = await comet(ports[0].rpc, 'broadcast_tx_commit', { tx: tx.toString('base64') })
      if (check_tx.code !== 0 || tx_result.code !== 0) throw new Error(`a transaction failed: ${check_tx.log} ${tx_result.log}`)
      commits.push(performance.now() - began)
    }
  const hasReceipts = ports[0].http !== undefined
  const received = hasReceipts ? lanes.map((lane) => lane.slice(perLane, 2 * perLane)) : lanes.map(() => [])
  const receipts = hasReceipts ? await receiptTimes(ports[0].http, received.flat()) : []
  const [from, began] = [await heightOf(ports[0].rpc), performance.now()]
  let sent = 0
  await Promise.all(
    lanes.map(async (lane, l) => {
      const { rpc } = ports[l % ports.length]
      for (const tx of lane.slice(timed[l].length + received[l].length)) {
        const { code, log } = await comet(rpc, 'broadcast_tx_sync', { tx: tx.toString('base64') })
        if (code !== 0) throw new Error(`broadcast_tx_sync: ${log}`)
        sent++
      }
    }),
  )
  let [height, included] = [from, 0]
  await until(
    'all transactions are in blocks',
    async () => {
      while ((await heightOf(ports[0].rpc)) > height) {
        const { block } = await comet(ports[0].rpc, 'block', { height: String(height + 1) })
        height++
        included += block.data.txs.length
      }
      return included >= sent
    },
    300_000,
  )
  return { rate: included / ((performance.now() - began) / 1000), commits, receipts }
}

/** Samples of the scrape page by name and label `method`. */
async function samples({ metrics }) {
  const page = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text()
  const all = new Map()
  for (const [, name, labels = '', value] of page.matchAll(/^(consensus_\w+)(\{[^}]*\})? (\S+)$/gm)) {
    const [, method = ''] = /method="(\w+)"/.exec(labels) ?? []
    const [, le = ''] = /le="([^"]+)"/.exec(labels) ?? []
    const key = [name, method, le].filter(Boolean).join(' ')
    all.set(key, (all.get(key) ?? 0) + Number(value))
  }
  return all
}

/** What a value rose by between two pages. */
const rise = (before, after, key) => (after.get(key) ?? 0) - (before.get(key) ?? 0)

/** Mean milliseconds of a method between two pages. */
const meanMs = (before, after, method) =>
  (1000 * rise(before, after, `consensus_abci_seconds_sum ${method}`)) / rise(before, after, `consensus_abci_seconds_count ${method}`)

/** Upper bound of the bucket that has the 99th of a hundred, in milliseconds. */
function p99Ms(before, after, method) {
  const prefix = `consensus_abci_seconds_bucket ${method} `
  const bounds = [...after.keys()]
    .filter((key) => key.startsWith(prefix))
    .map((key) => [Number(key.slice(prefix.length).replace('+Inf', 'Infinity')), rise(before, after, key)])
  bounds.sort((a, b) => a[0] - b[0])
  const all = bounds.at(-1)?.[1] ?? 0
  return 1000 * (bounds.find(([, count]) => count >= all * 0.99)?.[0] ?? Number.NaN)
}

const METHODS = ['PrepareProposal', 'ProcessProposal', 'FinalizeBlock', 'Commit']

/** The rows of `npm run bench -- network`. */
export async function networkBench() {
  const [comets, cli] = [await cometbftProgram(VERSION), await cometbftProgram(VERSION, 'abci-cli')]
  if ('missing' in comets || 'missing' in cli) {
    console.log(`skipped: ${'missing' in comets ? comets.missing : 'missing' in cli && cli.missing}`)
    return
  }
  const { program } = comets
  const lanes = await transfers()
  const pairs = pairsLike(lanes)
  const bytes = median(lanes.flat().map((tx) => tx.length))
  const rows = []
  for (const validators of [1, 4]) {
    const [mine, their] = [[], []]
    let pages
    for (let round = 0; round < ROUNDS; round++)
      for (const side of round % 2 ? ['theirs', 'ours'] : ['ours', 'theirs']) {
        const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-network-'))
        const nodes = side === 'ours' ? await ours(dir, program, validators) : await theirs(dir, program, cli.program, validators)
        try {
          const before = side === 'ours' ? await samples(nodes.ports[0]) : undefined
          const result = await measure(nodes, side === 'ours' ? lanes : pairs)
          ;(side === 'ours' ? mine : their).push(result)
          if (before) pages = [before, await samples(nodes.ports[0])]
        } finally {
          await nodes.stop()
          fs.rmSync(dir, { recursive: true, force: true })
        }
      }
    const ratios = mine.map(({ rate }, i) => rate / their[i].rate)
    const isLosing = median(ratios) < WANTED.ratio || (validators === 1 && median(mine.map(({ rate }) => rate)) <= WANTED.one)
    const goal = `${spread(ratios, 2)} times, at least ${WANTED.ratio}${validators === 1 ? `, and over ${WANTED.one}/s` : ''}`
    const rates = [mine, their].map((side) =>
      spread(
        side.map(({ rate }) => rate),
        0,
      ),
    )
    rows.push([
      `${TRANSACTIONS} transfers of ${bytes} bytes, ${validators} validators, timeout_commit of ${TIMEOUT_COMMIT_MS} ms (transactions/s)`,
      ...rates,
      goal + losing(isLosing),
    ])
    const commits = [mine, their].map((side) =>
      spread(
        side.flatMap(({ commits }) => commits),
        0,
      ),
    )
    rows.push([`submit to commit, ${validators} validators (ms)`, ...commits, ''])
    const receipts = mine.flatMap(({ receipts }) => receipts)
    rows.push([`submit to receipt, ${validators} validators (ms)`, spread(receipts, 0), '', ''])
    const [before, after] = pages
    const executions = rise(before, after, 'consensus_block_executions_total') / rise(before, after, 'consensus_height')
    const over = Math.round(executions * 100) / 100 > WANTED.executions
    rows.push([`executions of a block, ${validators} validators`, executions.toFixed(2), '', `${WANTED.executions}${losing(over)}`])
    if (validators === 1) {
      const [finalized, prepared] = ['FinalizeBlock', 'PrepareProposal'].map((method) => meanMs(before, after, method))
      const part = finalized / prepared
      rows.push([
        'FinalizeBlock of a seen proposal over its execution',
        `${finalized.toFixed(2)} of ${prepared.toFixed(2)} ms`,
        '',
        `${part.toFixed(3)}, at most ${WANTED.seen}${losing(part > WANTED.seen)}`,
      ])
    }
  }
  rows.push(await emptyRow(program), await bakingRow(program, lanes))
  table('network', ['row', 'hearth', 'kvstore', 'wanted'], rows)
}

/** Time of all calls of a block without transactions. */
async function emptyRow(program) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-network-'))
  const nodes = await ours(dir, program, 1, { timeoutMs: 20 })
  const [{ rpc }] = nodes.ports
  try {
    const times = []
    for (let i = 0; i < EMPTY_BLOCKS; i++) {
      const [before, height] = [await samples(nodes.ports[0]), await heightOf(rpc)]
      await until('a block', async () => (await heightOf(rpc)) > height)
      const after = await samples(nodes.ports[0])
      const blocks = rise(before, after, 'consensus_height')
      const seconds = METHODS.reduce((sum, method) => sum + rise(before, after, `consensus_abci_seconds_sum ${method}`), 0)
      if (blocks > 0) times.push((1000 * seconds) / blocks)
    }
    return ['calls of an empty block (ms)', spread(times, 2), '', `at most ${WANTED.emptyMs}${losing(median(times) > WANTED.emptyMs)}`]
  } finally {
    await nodes.stop()
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

/** Commits of a validator while a follower bakes, beside those while it does not. */
async function bakingRow(program, lanes) {
  const of = { true: [], false: [] }
  for (let round = 0; round < ROUNDS; round++)
    for (const bakes of round % 2 ? [true, false] : [false, true]) {
      const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-network-'))
      const nodes = await ours(dir, program, 1, { follower: { bakes } })
      try {
        const before = await samples(nodes.ports[0])
        await measure({ ports: nodes.ports.slice(0, 1) }, lanes)
        of[bakes].push(p99Ms(before, await samples(nodes.ports[0]), 'Commit'))
      } finally {
        await nodes.stop()
        fs.rmSync(dir, { recursive: true, force: true })
      }
    }
  const ratio = median(of.true) / median(of.false)
  const [on, off] = [spread(of.true, 1), spread(of.false, 1)]
  return [
    'Commit p99 while a follower bakes, and while it does not (ms, bounds of buckets)',
    `${on}; ${off}`,
    '',
    `${ratio.toFixed(2)} times, at most ${WANTED.commit}${losing(ratio > WANTED.commit)}`,
  ]
}
