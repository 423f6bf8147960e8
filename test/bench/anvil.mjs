// anvil as a peer on recorded blocks, by a state file in its own format that makes it treat the
// block as one that it mined.
//
// The file contains the block unchanged, so that its hash and every field of its environment are
// the real ones, and the state before it under the parent's hash, from where anvil executes the
// block again for each trace.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { keccak256 } from 'viem'
import { ROOT } from '../../native/setup/env.mjs'
import { freePort, started } from './process.mjs'

/**
 * The program of anvil from the platform's package: the wrapper on the PATH is another process,
 * whose memory is not that of anvil.
 */
export const ANVIL = path.join(
  ROOT,
  'node_modules/@foundry-rs',
  `anvil-${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`,
  process.platform === 'win32' ? 'bin/anvil.exe' : 'bin/anvil',
)

/** The release that is compared with. */
const VERSION = '1.7.1'

/**
 * Names of anvil's hard forks from the first block or second of each on, latest first.
 *
 * @type {[unit: string, first: number, name: string][]}
 */
const FORKS = [
  ['timestamp', 1_710_338_135, 'cancun'],
  ['timestamp', 1_681_338_455, 'shanghai'],
  ['number', 15_537_394, 'paris'],
  ['number', 15_050_000, 'grayglacier'],
  ['number', 13_773_000, 'arrowglacier'],
  ['number', 12_965_000, 'london'],
  ['number', 12_244_000, 'berlin'],
  ['number', 9_200_000, 'muirglacier'],
  ['number', 9_069_000, 'istanbul'],
  ['number', 7_280_000, 'petersburg'],
  ['number', 4_370_000, 'byzantium'],
  ['number', 2_675_000, 'spuriousdragon'],
  ['number', 2_463_000, 'tangerine'],
  ['number', 1_150_000, 'homestead'],
  ['number', 0, 'frontier'],
]

const STOP = 0x00
const JUMPDEST = 0x5b
const PUSH1 = 0x60
const PUSH32 = 0x7f

/** Whether anvil of the right release is installed; says why where it is not. */
export function haveAnvil() {
  const found = spawnSync(ANVIL, ['--version'], { encoding: 'utf8' })
  if (found.status === 0 && found.stdout?.includes(VERSION)) return true
  console.log(`skipped: anvil ${VERSION} is not installed`)
  return false
}

/** A program with its jump destinations, as revm writes it. */
function analysed(hex) {
  const code = Buffer.from(hex.slice(2), 'hex')
  const data = new Uint8Array(Math.ceil(code.length / 8))
  let at = 0
  let last = STOP
  while (at < code.length) {
    last = code[at]
    if (last === JUMPDEST) data[at >> 3] |= 1 << (at & 7)
    at += last >= PUSH1 && last <= PUSH32 ? last - PUSH1 + 2 : 1
  }
  const padding = at - code.length + (code.length === 0 || last !== STOP ? 1 : 0)
  return {
    LegacyAnalyzed: {
      bytecode: `0x${Buffer.concat([code, Buffer.alloc(padding)]).toString('hex')}`,
      original_len: code.length,
      jump_table: { order: 'bitvec::order::Lsb0', head: { width: 8, index: 0 }, bits: code.length, data: [...data] },
    },
  }
}

/** Accounts and storage of an allocation. */
function snapshot(preState, blockHashes) {
  const accounts = {}
  const storage = {}
  for (const [address, { balance = '0x0', nonce = '0x0', code = '0x', storage: slots = {} }] of Object.entries(preState)) {
    accounts[address] = { balance, nonce: Number(nonce), code_hash: keccak256(code), code: analysed(code) }
    storage[address] = slots
  }
  const hashes = Object.fromEntries(Object.entries(blockHashes ?? {}).map(([number, hash]) => [`0x${BigInt(number).toString(16)}`, hash]))
  return { accounts, storage, block_hashes: hashes }
}

function transactionOf({ blockHash, blockNumber, transactionIndex, from, type = '0x0', gasPrice, v, yParity, to = null, ...tx }) {
  const fees = type === '0x0' || type === '0x1' ? { gasPrice } : {}
  const parity = type === '0x0' ? { v } : { yParity: yParity ?? v, v: yParity ?? v }
  return { transaction: { type, to, ...tx, ...fees, ...parity }, impersonated_sender: null }
}

/** What anvil remembers of a transaction that it mined; only the hashes matter for traces. */
function minedOf(tx, index, block) {
  const info = {
    transaction_hash: tx.hash,
    transaction_index: index,
    from: tx.from,
    to: tx.to ?? null,
    contract_address: null,
    traces: [],
    exit: 'Return',
    out: '0x',
    nonce: Number(tx.nonce),
    gas_used: 21_000,
  }
  const receipt = { type: tx.type ?? '0x0', status: '0x1', cumulativeGasUsed: '0x0', logs: [], logsBloom: `0x${'00'.repeat(256)}` }
  return { info, receipt, block_hash: block.hash, block_number: Number(block.number) }
}

/** A recorded case as a state file. */
export function anvilState({ block, preState, blockHashes }) {
  const { transactions, uncles, withdrawals, hash, size, totalDifficulty, ...header } = block
  const environment = {
    number: block.number,
    beneficiary: block.miner,
    timestamp: block.timestamp,
    gas_limit: Number(block.gasLimit),
    basefee: Number(block.baseFeePerGas ?? 0),
    difficulty: block.difficulty,
    prevrandao: block.mixHash,
    blob_excess_gas_and_price: null,
    slot_num: 0,
  }
  return {
    block: environment,
    accounts: {},
    best_block_number: Number(block.number),
    blocks: [{ header, transactions: transactions.map(transactionOf), ommers: [], withdrawals: withdrawals ?? null }],
    transactions: transactions.map((tx, index) => minedOf(tx, index, block)),
    historical_states: [[block.parentHash, snapshot(preState, blockHashes)]],
  }
}

function forkOf(block) {
  const found = FORKS.find(([unit, first]) => Number(block[unit]) >= first)
  return found[2]
}

async function start(args) {
  const port = await freePort()
  return started(ANVIL, ['--quiet', '--port', String(port), '--accounts', '1', '--no-mining', ...args], port)
}

/** anvil with a chain of its own. */
export const startAnvil = () => start(['--disable-block-gas-limit'])

/** anvil with a recorded block as its head; its state file is written to `dir`. */
export function startAnvilOn(recorded, dir) {
  const file = path.join(dir, 'anvil-state.json')
  fs.writeFileSync(file, JSON.stringify(anvilState(recorded)))
  return start(['--chain-id', '1', '--hardfork', forkOf(recorded.block), '--load-state', file])
}
