// A chain to develop on beside anvil's: starts, transfers, snapshots, and the memory of blocks.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { mnemonicToAccount } from 'viem/accounts'
import { haveAnvil } from './anvil.mjs'
import { Connection, call, devNode, NAMES, startMs } from './dev-nodes.mjs'
import { wire } from './load.mjs'
import { memoryMiB } from './process.mjs'
import { result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

const STARTS = 11
const START_MS = 125

const TRANSFERS = 10_000
/** On as many fresh nodes one after the other, in turn with the other side. */
const TRANSFER_ROUNDS = 4
const TRANSFERS_A_ROUND = TRANSFERS / TRANSFER_ROUNDS
/** Transactions of one batch. */
const BATCH = 100

/**
 * A chain that takes no transaction for so long takes no more of the waiting ones, in milliseconds.
 */
const STALL_MS = 5000

/**
 * Sends on one node, each followed by its receipt, after so many that are not counted; repeated on
 * as many fresh nodes.
 */
const SENDS = 100
const SENDS_BEFORE = 20
const SEND_ROUNDS = 7

/** Empty blocks that one request makes, on as many fresh nodes. */
const MINED_AT_ONCE = 100_000
const MINED_ROUNDS = 3
const MINED_MS = 2000

const SLOTS = 100_000
/** Slots that one transaction fills, within the most gas that a transaction may have (EIP-7825). */
const SLOTS_A_CALL = 700
const SNAPSHOTS = 21

const EMPTY_BLOCKS = 10_000
const EMPTY_BLOCK_ROUNDS = 3
const EMPTY_BLOCK_KIB = 4

/** Blocks of a home before its memory is looked at, and then again. */
const HOME_BLOCKS = [10_000, 100_000]
const HOME_GROWTH = 1.2

const PHRASE = 'test test test test test test test test test test test junk'
const TO = '0x00000000000000000000000000000000000000ee'

/**
 * Fills slots: the first word of its input is the first slot, the second word the number of slots;
 * each gets its own number.
 *
 * PUSH1 0 CALLDATALOAD DUP1 PUSH1 32 CALLDATALOAD ADD SWAP1 JUMPDEST DUP1 DUP1 SSTORE PUSH1 1 ADD
 * DUP1 DUP3 GT PUSH1 9 JUMPI STOP
 */
const FILLER = '0x6000358060203501905b80805560010180821160095700'
const FILLER_AT = '0x00000000000000000000000000000000000000ef'

const hex = (n) => `0x${n.toString(16)}`
const word = (n) => n.toString(16).padStart(64, '0')

/**
 * A row of the table. `wanted` is a bound on the median of Hearth, if there is one; less is better
 * unless `more`.
 *
 * @param {string} name
 * @param {Record<string, number[]>} measured
 * @param {{ digits?: number, more?: boolean, wanted?: number }} [options]
 */
function row(name, { hearth, anvil }, { digits = 1, more = false, wanted } = {}) {
  const ours = median(hearth)
  const reached = wanted === undefined ? '' : ours <= wanted ? `reached (${wanted})` : `NOT reached (${wanted})`
  if (anvil === undefined) return [name, spread(hearth, digits), 'skipped', '', reached]
  const ratio = more ? ours / median(anvil) : median(anvil) / ours
  return [name, spread(hearth, digits), spread(anvil, digits), `${ratio.toFixed(2)}${ratio < 1 ? '  LOSING' : ''}`, reached]
}

/** Runs `measure` on each side in turn, `rounds` times; the numbers by side. */
async function pairs(sides, rounds, measure) {
  const all = Object.fromEntries(sides.map((side) => [side, []]))
  for (let round = 0; round < rounds; round++) {
    for (const side of round % 2 ? [...sides].reverse() : sides) all[side].push(await measure(side))
  }
  return all
}

/** Gives a node to `use` and stops it. */
async function withNode(side, use, more) {
  const node = await devNode(side, more)
  try {
    return await use(node)
  } finally {
    await node.stop()
  }
}

/** Signed transfers of the first account, nonces in order. */
async function signed() {
  const account = mnemonicToAccount(PHRASE)
  const all = []
  for (let nonce = 0; nonce < TRANSFERS_A_ROUND; nonce++) {
    /** @type {import('viem').TransactionSerializableEIP1559} */
    const tx = {
      type: 'eip1559',
      chainId: 31_337,
      to: TO,
      value: 1n,
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
      maxPriorityFeePerGas: 1n,
      nonce,
    }
    all.push(await account.signTransaction(tx))
  }
  return all
}

/**
 * Transfers per second: sent in `messages`, each after the answer to the one before, until the
 * chain has all of them. For a chain that stalls, those that it took count, and `stalled` gets the
 * number of the others.
 */
async function transfers({ url }, messages, stalled) {
  const connection = await Connection.open(url)
  const began = performance.now()
  for (const message of messages) {
    const answer = await connection.ask(message(url))
    if (answer.includes('"error":{')) throw new Error(answer.slice(0, 300))
  }
  connection.close()
  let [taken, at] = [0, performance.now()]
  for (;;) {
    const now = Number(await result(url, 'eth_getBalance', [TO, 'latest']))
    if (now > taken) [taken, at] = [now, performance.now()]
    if (taken >= TRANSFERS_A_ROUND) break
    if (performance.now() - at > STALL_MS) {
      stalled(TRANSFERS_A_ROUND - taken)
      break
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return (taken / (at - began)) * 1000
}

async function transferRows(sides) {
  const all = await signed()
  const one = all.map((tx) => (url) => call(url, 'eth_sendRawTransaction', [tx]))
  const batches = []
  for (let at = 0; at < all.length; at += BATCH) {
    const body = all.slice(at, at + BATCH).map((tx, id) => ({ jsonrpc: '2.0', id, method: 'eth_sendRawTransaction', params: [tx] }))
    batches.push((url) => wire(url, JSON.stringify(body)))
  }
  const rounds = `on ${TRANSFER_ROUNDS} nodes`
  const measured = async (name, messages) => {
    const left = []
    const of = (side) => withNode(side, (node) => transfers(node, messages, (count) => left.push(`${side} left ${count} for good`)))
    const all = await pairs(sides, TRANSFER_ROUNDS, of)
    const stalls = left.length === 0 ? '' : `; ${left.join(', ')}`
    return row(`${TRANSFERS} transfers ${rounds}, ${name} (transfers/s${stalls})`, all, { digits: 0, more: true })
  }
  return [await measured('one by one, a block each', one), await measured(`in batches of ${BATCH}`, batches)]
}

/**
 * Median of the milliseconds from a send, whose nonce, fees and gas the node chooses, to its
 * receipt.
 */
async function sends({ url }) {
  const connection = await Connection.open(url)
  const ask = async (method, params) => {
    const { result, error } = JSON.parse(await connection.ask(call(url, method, params)))
    if (error !== undefined) throw new Error(error.message)
    return result
  }
  const [from] = await ask('eth_accounts', [])
  const times = []
  for (let sent = 0; sent < SENDS_BEFORE + SENDS; sent++) {
    const ms = await timed(async () => {
      const hash = await ask('eth_sendTransaction', [{ from, to: TO, value: '0x1' }])
      while ((await ask('eth_getTransactionReceipt', [hash])) === null);
    })
    if (sent >= SENDS_BEFORE) times.push(ms)
  }
  connection.close()
  return median(times)
}

/** Fills slots of the filler from `first` on. */
async function fill(url, from, first, count) {
  const data = `0x${word(first)}${word(count)}`
  const hash = await result(url, 'eth_sendTransaction', [{ from, to: FILLER_AT, data, gas: hex(2 ** 24) }])
  for (;;) {
    const receipt = await result(url, 'eth_getTransactionReceipt', [hash])
    if (receipt?.status === '0x1') return
    if (receipt) throw new Error('the filler failed')
  }
}

const timed = async (work) => {
  const began = performance.now()
  await work()
  return performance.now() - began
}

/**
 * Milliseconds of snapshots and of reverts over some hundred changed slots, on a state with many
 * slots.
 */
async function snapshotTimes({ url }) {
  const [from] = await result(url, 'eth_accounts', [])
  await result(url, 'anvil_setCode', [FILLER_AT, FILLER])
  for (let first = 1; first < SLOTS; first += SLOTS_A_CALL) await fill(url, from, first, SLOTS_A_CALL)
  const times = { taken: [], reverted: [] }
  for (let i = 0; i < SNAPSHOTS; i++) {
    let id
    times.taken.push(
      await timed(async () => {
        id = await result(url, 'evm_snapshot', [])
      }),
    )
    await fill(url, from, 10 * SLOTS, SLOTS_A_CALL)
    times.reverted.push(
      await timed(async () => {
        if ((await result(url, 'evm_revert', [id])) !== true) throw new Error('not reverted')
      }),
    )
    if (BigInt(await result(url, 'eth_getStorageAt', [FILLER_AT, hex(10 * SLOTS + 1), 'latest'])) !== 0n) throw new Error('not reverted')
  }
  if (BigInt(await result(url, 'eth_getStorageAt', [FILLER_AT, hex(SLOTS), 'latest'])) !== BigInt(SLOTS))
    throw new Error('slots are missing')
  return times
}

async function snapshotRows(sides) {
  const measured = {}
  for (const side of sides) measured[side] = await withNode(side, snapshotTimes)
  const of = (name) => Object.fromEntries(sides.map((side) => [side, measured[side][name]]))
  return [
    row(`snapshot of a state with ${SLOTS} slots (ms)`, of('taken'), { digits: 2 }),
    row(`revert of ${SLOTS_A_CALL} changed slots there (ms)`, of('reverted'), { digits: 2 }),
  ]
}

/** Makes empty blocks, some thousand a request. */
async function mine(url, count) {
  for (let left = count; left > 0; left -= 1000) await result(url, 'anvil_mine', [hex(Math.min(left, 1000))])
}

/** Milliseconds of one request for many empty blocks. */
async function minedAtOnce({ url }) {
  const ms = await timed(() => result(url, 'hardhat_mine', [hex(MINED_AT_ONCE)]))
  if (Number(await result(url, 'eth_blockNumber', [])) !== MINED_AT_ONCE) throw new Error('blocks are missing')
  return ms
}

/** KiB of memory per empty block in a process without a home, and milliseconds to make one. */
async function emptyBlocks({ url, pid }) {
  // What is allocated once for all is there after the first blocks.
  await mine(url, EMPTY_BLOCKS / 10)
  const before = memoryMiB(pid, 'VmRSS')
  const ms = await timed(() => mine(url, EMPTY_BLOCKS))
  return { kib: ((memoryMiB(pid, 'VmRSS') - before) * 1024) / EMPTY_BLOCKS, ms: ms / EMPTY_BLOCKS }
}

async function emptyBlockRows(sides) {
  const measured = await pairs(sides, EMPTY_BLOCK_ROUNDS, (side) => withNode(side, emptyBlocks))
  const of = (name) => Object.fromEntries(sides.map((side) => [side, measured[side].map((round) => round[name])]))
  return [
    row(`memory of an empty block, over ${EMPTY_BLOCKS} (KiB)`, of('kib'), { digits: 2, wanted: EMPTY_BLOCK_KIB }),
    row('time of an empty block, a thousand in one request (ms)', of('ms'), { digits: 3 }),
  ]
}

/** Resident memory with a home after ten times as many blocks, by what it was before. */
async function homeGrowth({ url, pid }) {
  const [first, last] = HOME_BLOCKS
  await mine(url, first)
  const before = memoryMiB(pid, 'VmRSS')
  await mine(url, last - first)
  const after = memoryMiB(pid, 'VmRSS')
  console.log(`  ${before.toFixed(0)} MiB after ${first} blocks, ${after.toFixed(0)} MiB after ${last}`)
  return after / before
}

/** Of Hearth alone: anvil takes a quarter of an hour for so many blocks. */
async function homeRow() {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-dev-'))
  try {
    const measured = { hearth: [await withNode('hearth', homeGrowth, ['--home', path.join(dir, 'home')])] }
    const name = `memory after ${HOME_BLOCKS[1]} empty blocks by that after ${HOME_BLOCKS[0]}, ours with a home`
    return row(name, measured, { digits: 2, wanted: HOME_GROWTH })
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

/** Rows by the word that chooses them: `DEV_ROWS=start,transfers`. */
const ROWS = {
  start: async (sides) => [row('start to first answer (ms)', await pairs(sides, STARTS, startMs), { digits: 0, wanted: START_MS })],
  transfers: transferRows,
  sends: async (sides) => {
    const measured = await pairs(sides, SEND_ROUNDS, (side) => withNode(side, sends))
    return [row(`send and receipt, the first ${SENDS} of a chain, on ${SEND_ROUNDS} nodes (ms)`, measured, { digits: 2 })]
  },
  mine: async () => {
    // anvil takes minutes.
    const measured = await pairs(['hearth'], MINED_ROUNDS, (side) => withNode(side, minedAtOnce))
    return [row(`${MINED_AT_ONCE} empty blocks in one request (ms)`, measured, { digits: 0, wanted: MINED_MS })]
  },
  snapshots: snapshotRows,
  memory: emptyBlockRows,
  home: async () => [await homeRow()],
}

/** The bench behind `npm run bench -- dev`. */
export async function devBench() {
  const sides = haveAnvil() ? NAMES : ['hearth']
  const wanted = process.env.DEV_ROWS?.split(',') ?? Object.keys(ROWS)
  const rows = []
  for (const name of wanted) {
    for (const made of await ROWS[name](sides)) {
      rows.push(made)
      console.log(made.join('  '))
    }
  }
  table('dev', ['row', 'hearth', 'anvil', 'anvil over hearth (transfers: hearth over anvil)', 'wanted of hearth'], rows)
}
