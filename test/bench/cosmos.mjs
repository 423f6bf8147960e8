// Clients of the Cosmos SDK and redirected requests under CometBFT: REST beside JSON-RPC, a call
// through a follower beside a direct one, and transfers signed as the SDK has them beside those of
// Ethereum.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { encodeFunctionData, keccak256, parseEther, toHex } from 'viem'
import { mnemonicToAccount, sign } from 'viem/accounts'
import { bech32 } from '../../dist/rpc/bech32.js'
import { ROOT } from '../../native/setup/env.mjs'
import { cometbftProgram } from '../cometbft-programs.mjs'
import { load, wire } from './load.mjs'
import { child, comet, end, heightOf, until } from './network.mjs'
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

/** Connections of a round, and the accounts that send a transaction each in a round. */
const CONNECTIONS = 16
const SENDERS = Number(process.env.HEARTH_TEST_COSMOS_TXS ?? 1000)

/** Requests of each way in the row of redirects, and how many of each warm the nodes up before. */
const REDIRECTED = Number(process.env.HEARTH_TEST_COSMOS_TXS ?? 1000)
const WARM = Math.min(1000, REDIRECTED)

/** Validators beside the one that makes the blocks. */
const MORE_VALIDATORS = 3
/** An account that no transaction is from. */
const RECIPIENT = `0x${'ee'.repeat(20)}`
const STAKING = '0x0000000000000000000000000000000000000800'

/**
 * Gas of a block, so that one holds all transfers of a round: native transactions have a tenth of
 * it. And the gas limit of a transfer, native or not.
 */
const [BLOCK_GAS, TRANSFER_GAS] = [1_000_000_000, 21_000n]

/** What the issue wants. */
const WANTED = { queries: 0.5, redirected: 1.5, natives: 0.7 }

const losing = (isLosing) => (isLosing ? '  LOSING' : '')
const accounts = (from, n) => Array.from({ length: n }, (_, i) => mnemonicToAccount(MNEMONIC, { addressIndex: from + i }))
const account = (address) => bech32('hearth', Buffer.from(address.slice(2), 'hex'))

const varint = (n) => {
  const bytes = []
  let rest = BigInt(n)
  for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128)
  return Buffer.from([...bytes, Number(rest)])
}
const bytes = (field, value) => Buffer.concat([varint((field << 3) | 2), varint(value.length), value])
const text = (field, value) => bytes(field, Buffer.from(value))
const number = (field, value) => (BigInt(value) === 0n ? Buffer.alloc(0) : Buffer.concat([varint(field << 3), varint(value)]))
const message = (...parts) => Buffer.concat(parts)
const coin = (amount) => message(text(1, 'wei'), text(2, amount.toString()))
const any = (type, value) => message(text(1, type), bytes(2, value))

/** A signed MsgSend (`cosmos.tx.v1beta1.TxRaw`) of one wei. */
async function msgSend(signer, sequence, to) {
  const key = signer.getHdKey()
  const gas = TRANSFER_GAS
  const send = message(text(1, account(signer.address)), text(2, account(to)), bytes(3, coin(1n)))
  const body = bytes(1, any('/cosmos.bank.v1beta1.MsgSend', send))
  const publicKey = any('/cosmos.evm.crypto.v1.ethsecp256k1.PubKey', bytes(1, Buffer.from(key.publicKey)))
  const info = message(bytes(1, publicKey), bytes(2, bytes(1, number(1, 1))), number(3, sequence))
  const auth = message(bytes(1, info), bytes(2, message(bytes(1, coin(gas * GAS_PRICE)), number(2, gas))))
  const document = message(bytes(1, body), bytes(2, auth), text(3, `hearth-${CHAIN}`))
  const { r, s } = await sign({ hash: keccak256(document), privateKey: toHex(key.privateKey) })
  const signature = Buffer.from(r.slice(2) + s.slice(2), 'hex')
  return message(bytes(1, body), bytes(2, auth), bytes(3, signature))
}

/** @type {{ type: 'legacy', chainId: number, gasPrice: bigint }} */
const fees = { type: 'legacy', chainId: CHAIN, gasPrice: GAS_PRICE }
const transfer = (signer, nonce, to) => signer.signTransaction({ ...fees, nonce, gas: TRANSFER_GAS, to, value: 1n })

/**
 * A validator and a follower that redirects to it.
 *
 * @returns {Promise<Record<'ports' | 'urls' | 'stop', any>>}
 */
async function network(dir, program) {
  const base = ((await freePort()) % 10_000) + 10_000
  const hearth = (...args) => run(process.execPath, [HEARTH, ...args].map(String))
  // The genesis of a new chain with larger blocks; the network has its own validators.
  hearth('init', '--cometbft', '--home', path.join(dir, 'plain'), '--chain-id', CHAIN, '--dev-accounts', SENDERS)
  const { app_state } = JSON.parse(fs.readFileSync(path.join(dir, 'plain/cometbft/config/genesis.json'), 'utf8'))
  const { [STAKING]: _, ...alloc } = app_state.alloc
  const genesis = path.join(dir, 'genesis.json')
  fs.writeFileSync(genesis, JSON.stringify({ ...app_state, alloc, gasLimit: toHex(BLOCK_GAS) }))
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

/** Makes further validators, so that a list has several. */
async function addValidators([url]) {
  const abi = JSON.parse(fs.readFileSync(path.join(ROOT, 'crates/cosmos/contract/Staking.abi.json'), 'utf8'))
  for (const [i, signer] of accounts(0, MORE_VALIDATORS).entries()) {
    const args = [toHex(i + 1, { size: 32 }), [`validator ${i}`, '', 'https://example.org', '', 'a validator of a bench'], 0n]
    const data = encodeFunctionData({ abi, functionName: 'createValidator', args })
    /** @type {import('viem').TransactionSerializableLegacy} */
    const transaction = { ...fees, nonce: 0, gas: 2_000_000n, to: STAKING, value: parseEther('1'), data }
    const raw = await signer.signTransaction(transaction)
    await result(url, 'eth_sendRawTransaction', [raw])
  }
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
  const params = [accounts(0, 1)[0].address, 'latest']
  const balance = wire(url, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBalance', params }))
  const list = Buffer.from(head)
  const [queries, balances] = await inTurns({ url: `http://127.0.0.1:${rest}`, next: () => list }, { url, next: () => balance })
  const ratios = queries.map((rate, i) => rate / balances[i])
  const goal = `${spread(ratios, 2)} times, at least ${WANTED.queries}${losing(median(ratios) < WANTED.queries)}`
  const name = `validators?pagination.limit=500 of ${MORE_VALIDATORS + 1} over REST, eth_getBalance (requests/s)`
  return [name, spread(queries, 0), spread(balances, 0), goal]
}

/**
 * eth_sendRawTransaction through the follower beside the same call to the owner: milliseconds of
 * each.
 */
async function redirectRow({ urls: [direct, follower] }) {
  const [times, signer] = [{ direct: [], redirected: [] }, mnemonicToAccount(MNEMONIC, { addressIndex: SENDERS - 1 })]
  for (let nonce = 0; nonce < 2 * (WARM + REDIRECTED); nonce++) {
    const raw = await transfer(signer, nonce, RECIPIENT)
    const [url, kind] = nonce % 2 ? [direct, 'direct'] : [follower, 'redirected']
    const began = performance.now()
    await ask(url, 'eth_sendRawTransaction', [raw])
    if (nonce >= 2 * WARM) times[kind].push(performance.now() - began)
  }
  const ratio = median(times.redirected) / median(times.direct)
  const goal = `${ratio.toFixed(2)} times, at most ${WANTED.redirected}${losing(ratio > WANTED.redirected)}`
  return ['eth_sendRawTransaction through a follower, to the owner (ms)', spread(times.redirected, 2), spread(times.direct, 2), goal]
}

/** Sends transactions to CometBFT, and waits until blocks have them: transactions a second. */
async function rateOf(rpc, transactions) {
  const [from, began] = [await heightOf(rpc), performance.now()]
  let next = 0
  const lane = async () => {
    while (next < transactions.length) {
      const { code, log } = await comet(rpc, 'broadcast_tx_sync', { tx: transactions[next++].toString('base64') })
      if (code !== 0) throw new Error(`broadcast_tx_sync: ${log}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, lane))
  let [height, included] = [from, 0]
  await until('all transactions are in blocks', async () => {
    while ((await heightOf(rpc)) > height) {
      const { block } = await comet(rpc, 'block', { height: String(height + 1) })
      height++
      included += block.data.txs.length
    }
    return included >= transactions.length
  })
  return (1000 * included) / (performance.now() - began)
}

/** Transfers as MsgSend beside those of Ethereum: transactions a second until blocks have them. */
async function nativesRow({ ports: [{ rpc }] }) {
  const rates = [[], []]
  const signers = accounts(MORE_VALIDATORS, SENDERS - MORE_VALIDATORS - 1)
  const kinds = [msgSend, async (...args) => Buffer.from((await transfer(...args)).slice(2), 'hex')]
  let nonce = 0
  // The first pair warms up.
  for (let round = -1; round < ROUNDS; round++)
    for (const kind of round % 2 ? [1, 0] : [0, 1]) {
      const signed = []
      for (const signer of signers) signed.push(await kinds[kind](signer, nonce, RECIPIENT))
      nonce++
      const rate = await rateOf(rpc, signed)
      if (round >= 0) rates[kind].push(rate)
    }
  const ratios = rates[0].map((rate, i) => rate / rates[1][i])
  const goal = `${spread(ratios, 2)} times, at least ${WANTED.natives}${losing(median(ratios) < WANTED.natives)}`
  return [`${signers.length} transfers as MsgSend, as those of Ethereum (transactions/s)`, spread(rates[0], 0), spread(rates[1], 0), goal]
}

/** The rows of `npm run bench -- cosmos`. */
export async function cosmosBench() {
  const found = await cometbftProgram(VERSION)
  if ('missing' in found) {
    console.log(`skipped: ${found.missing}`)
    return
  }
  const { program } = found
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-cosmos-'))
  const nodes = await network(dir, program)
  try {
    const rows = []
    // The further validators of the other rows have no node: rounds that they should propose wait.
    rows.push(await nativesRow(nodes))
    await addValidators(nodes.urls)
    await until('the validators are listed', async () => {
      const response = await fetch(`http://127.0.0.1:${nodes.ports[0].rest}/cosmos/staking/v1beta1/validators`)
      const { validators } = /** @type {{ validators: unknown[] }} */ (await response.json())
      return validators.length === MORE_VALIDATORS + 1
    })
    /** @type {((nodes: any) => Promise<string[]>)[]} */
    const others = [queriesRow, redirectRow]
    for (const row of others) rows.push(await row(nodes))
    table('cosmos', ['row', 'this', 'beside', 'wanted'], rows)
  } finally {
    await nodes.stop()
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
