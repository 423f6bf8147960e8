// Queries over REST and redirected requests under CometBFT: a list of validators beside a balance
// over JSON-RPC, and a call through a follower beside a direct one.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { mnemonicToAccount } from 'viem/accounts'
import { ROOT } from '../../native/setup/env.mjs'
import { cometbftProgram } from '../cometbft-programs.mjs'
import { load, wire } from './load.mjs'
import { child, end, until } from './network.mjs'
import { freePort, HEARTH, run } from './process.mjs'
import { ask, result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

const VERSION = '0.38.26'
const CHAIN = 7357
const MNEMONIC = 'test test test test test test test test test test test junk'
const GAS_PRICE = 20_000_000_000n

/** Rounds of each pair, and how long a round of requests takes, in milliseconds. */
const ROUNDS = Number(process.env.HEARTH_TEST_COSMOS_ROUNDS ?? 5)
const ROUND_MS = Number(process.env.HEARTH_TEST_COSMOS_MS ?? 2000)

/** Connections of a round, and transactions over each way. */
const CONNECTIONS = 16
const TRANSACTIONS = Number(process.env.HEARTH_TEST_COSMOS_TXS ?? 1000)

/** Validators in the example of the staking contract. */
const VALIDATORS = 3
/** An account that no transaction is from. */
const RECIPIENT = `0x${'ee'.repeat(20)}`
const STAKING = '0x0000000000000000000000000000000000000800'

/** What the issue wants. */
const WANTED = { queries: 0.5, redirected: 1.5 }

const losing = (isLosing) => (isLosing ? '  LOSING' : '')
const fees = { type: 'legacy', chainId: CHAIN, gasPrice: GAS_PRICE }
const transfer = (signer, nonce, to) => signer.signTransaction({ ...fees, nonce, gas: 21_000n, to, value: 1n })

/** The staking contract with the validators of its example. */
function staking() {
  const file = (name) => fs.readFileSync(path.join(ROOT, 'crates/cosmos/contract', name), 'utf8')
  const { balance, storage } = JSON.parse(file('genesis-example.json'))
  return { balance, storage, code: `0x${file('Staking.bin-runtime').trim()}` }
}

/** A validator and a follower that redirects to it. */
async function network(dir, program) {
  const base = ((await freePort()) % 10_000) + 10_000
  const hearth = (...args) => run(process.execPath, [HEARTH, ...args].map(String))
  hearth('init', '--cometbft', '--home', path.join(dir, 'plain'), '--chain-id', CHAIN, '--dev-accounts', 1)
  const { app_state } = JSON.parse(fs.readFileSync(path.join(dir, 'plain/cometbft/config/genesis.json'), 'utf8'))
  const genesis = path.join(dir, 'genesis.json')
  fs.writeFileSync(genesis, JSON.stringify({ ...app_state, alloc: { ...app_state.alloc, [STAKING]: staking() } }))
  const made = ['--dir', path.join(dir, 'net'), '--validators', 1, '--followers', 1, '--base-port', base]
  hearth('testnet', ...made, '--genesis', genesis)
  const { nodes } = JSON.parse(fs.readFileSync(path.join(dir, 'net/testnet.json'), 'utf8'))
  const flags = [`--consensus.cometbft_bin=${program}`, '--consensus.timeout_commit=500ms', '--consensus.redirect=sender']
  const limits = ['--txpool.max_transactions=200000', '--txpool.max_per_account=100000', '--txpool.max_bytes=256 MiB']
  const children = nodes.map(({ home }) => child(process.execPath, [HEARTH, 'start', '--home', home, ...flags, ...limits]))
  const ports = nodes.map(({ ports }) => ports)
  const urls = ports.map(({ http }) => `http://127.0.0.1:${http}`)
  const isThere = async (url) => BigInt(await result(url, 'eth_blockNumber', [])) > 1n
  for (const url of urls) await until('a first block', () => isThere(url))
  return { ports, urls, stop: () => end(children) }
}

/** Rates of two kinds of requests in turns. */
async function inTurns(one, other) {
  const rates = [[], []]
  for (let round = 0; round < ROUNDS; round++)
    for (const side of round % 2 ? [1, 0] : [0, 1]) {
      const { url, next } = [one, other][side]
      rates[side].push((await load(url, next, { ms: ROUND_MS, connections: CONNECTIONS })).perSecond)
    }
  return rates
}

/** A list of validators over REST beside a balance over JSON-RPC. */
async function queriesRow({ ports: [{ rest }], urls: [url] }) {
  const head = `GET /cosmos/staking/v1beta1/validators?pagination.limit=500 HTTP/1.1\r\nhost: 127.0.0.1:${rest}\r\n\r\n`
  const params = [mnemonicToAccount(MNEMONIC, { addressIndex: 0 }).address, 'latest']
  const balance = wire(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params }))
  const list = Buffer.from(head)
  const [queries, balances] = await inTurns({ url: `http://127.0.0.1:${rest}`, next: () => list }, { url, next: () => balance })
  const ratios = queries.map((rate, i) => rate / balances[i])
  const goal = `${spread(ratios, 2)} times, at least ${WANTED.queries}${losing(median(ratios) < WANTED.queries)}`
  const name = `validators?pagination.limit=500 of ${VALIDATORS} over REST, eth_getBalance (requests/s)`
  return [name, spread(queries, 0), spread(balances, 0), goal]
}

/**
 * eth_sendRawTransaction through the follower beside the same call to the owner: milliseconds of
 * each.
 */
async function redirectRow({ urls: [direct, follower] }) {
  const [times, signer] = [{ direct: [], redirected: [] }, mnemonicToAccount(MNEMONIC, { addressIndex: 0 })]
  for (let nonce = 0; nonce < 2 * TRANSACTIONS; nonce++) {
    const raw = await transfer(signer, nonce, RECIPIENT)
    const [url, kind] = nonce % 2 ? [direct, 'direct'] : [follower, 'redirected']
    const began = performance.now()
    await ask(url, 'eth_sendRawTransaction', [raw])
    times[kind].push(performance.now() - began)
  }
  const ratio = median(times.redirected) / median(times.direct)
  const goal = `${ratio.toFixed(2)} times, at most ${WANTED.redirected}${losing(ratio > WANTED.redirected)}`
  return ['eth_sendRawTransaction through a follower, to the owner (ms)', spread(times.redirected, 2), spread(times.direct, 2), goal]
}

/** The rows of `npm run bench -- cosmos`. */
export async function cosmosBench() {
  const { program, missing } = await cometbftProgram(VERSION)
  if (missing) {
    console.log(`skipped: ${missing}`)
    return
  }
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-cosmos-'))
  const nodes = await network(dir, program)
  try {
    const rows = []
    for (const row of [queriesRow, redirectRow]) rows.push(await row(nodes))
    table('cosmos', ['row', 'this', 'beside', 'wanted'], rows)
  } finally {
    await nodes.stop()
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
