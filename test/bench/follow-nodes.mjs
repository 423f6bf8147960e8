// Followers as processes: catching up beside the rate at which the upstream serves witnesses, and
// memory. The other tables are those of follow-heads.mjs and follow-traces.mjs.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from './chain.mjs'
import { headRows } from './follow-heads.mjs'
import { canPin, follower, hex, losing, now, reached, startedOn } from './follow-process.mjs'
import { tracesRows } from './follow-traces.mjs'
import { freePort, HEARTH, importChain, memoryMiB } from './process.mjs'
import { ask } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

/** Blocks grow from the least to the most transactions. */
const CHAIN = { blocks: 40, least: 200, most: 1400 }

/** Times that followers catch up. */
const ROUNDS = 3

/** Requests for witnesses at the same time: as many as a follower has (`follow.at_once`). */
const AT_ONCE = 4

/** Milliseconds of a tick, in which the system counts a process's time (proc(5)). */
const TICK_MS = 10

/** The goals: see the rows. */
const WANTED = { catchUp: 0.8, witnesses: 3, moreMiB: 300 }

/** Processor time of a process so far, in milliseconds; undefined where the system says none. */
function processorMs(pid) {
  const file = `/proc/${pid}/stat`
  if (!fs.existsSync(file)) return undefined
  // Behind the name, which may contain anything: user and system time are fields 14 and 15.
  const fields = fs.readFileSync(file, 'utf8').split(') ').at(-1).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}

/** The rate at which an upstream serves witnesses, in blocks a second, and the largest one. */
async function served({ url, pid }, blocks) {
  let [next, largest] = [1, 0]
  const lane = async () => {
    while (next <= blocks) {
      const { bytes } = await ask(url, 'debug_executionWitness', [hex(next++)])
      largest = Math.max(largest, bytes)
    }
  }
  const [began, took] = [now(), processorMs(pid)]
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return { rate: (1000 * blocks) / (now() - began), largest, ms: (processorMs(pid) - took) / blocks }
}

/** Blocks a second of a run between two of its heads. */
const rateOf = ({ first, last }) => (1000 * (last.head - first.head)) / Math.max(1, last.at - first.at)

/**
 * Rounds of catching up beside the rate of the upstream, the processes on these processors.
 *
 * @param {string} dir
 * @param {{ blocks: number }} chain
 * @param {string} genesis
 * @param {string} home
 * @param {number[]} processors
 */
async function catchUp(dir, chain, genesis, home, [theirs, ours]) {
  const port = await freePort()
  const ports = [`--evm.http_port=${port}`, `--evm.ws_port=${await freePort()}`, `--metrics.port=${await freePort()}`]
  const start = [HEARTH, 'start', '--home', home, '--evm.namespaces=eth,debug,net,web3', ...ports]
  const upstream = await startedOn(theirs, process.execPath, start, port)
  const measured = { rates: [], serving: [], peaks: [], ours: [], theirs: [], largest: 0 }
  try {
    // Warms the upstream up.
    await served(upstream, chain.blocks)
    for (let round = 0; round < ROUNDS; round++) {
      const witnesses = await served(upstream, chain.blocks)
      measured.serving.push(witnesses.rate)
      measured.theirs.push(witnesses.ms)
      measured.largest = Math.max(measured.largest, witnesses.largest)
      const followed = path.join(dir, `follower-${round}-${ours ?? 'any'}`)
      const node = await follower(followed, upstream.url, genesis, { processor: ours })
      try {
        const run = await reached(node.url, chain.blocks)
        measured.rates.push(rateOf(run))
        // Its start is among it.
        measured.ours.push(processorMs(node.pid) / chain.blocks)
        measured.peaks.push(memoryMiB(node.pid, 'VmHWM') ?? 0)
      } finally {
        await node.stop()
      }
    }
  } finally {
    await upstream.stop()
  }
  return { ...measured, ratio: median(measured.rates.map((rate, i) => rate / measured.serving[i])) }
}

/** Catching up with a Hearth upstream. */
async function catchUpRows(dir, chain, genesis) {
  const home = path.join(dir, 'upstream')
  importChain(home, chain)
  const apart = canPin ? await catchUp(dir, chain, genesis, home, [0, 1]) : undefined
  const shared = await catchUp(dir, chain, genesis, home, [])
  const { ratio } = apart ?? shared
  const wanted = `at least ${WANTED.catchUp}${losing(ratio < WANTED.catchUp)}`
  const largest = shared.largest / 2 ** 20
  const most = WANTED.witnesses * largest + WANTED.moreMiB
  const peak = Math.max(...shared.peaks)
  const rates = ({ rates, serving, ratio }, what) => [spread(rates), spread(serving), `${ratio.toFixed(2)} times${what}`]
  return [
    ...(apart ? [['catching up, witnesses that the upstream serves, a processor each (blocks/s)', ...rates(apart, `, ${wanted}`)]] : []),
    ['the same, both on all processors (blocks/s)', ...rates(shared, apart ? '' : `, ${wanted}`)],
    ['processor time a block, start included, and a witness (ms)', spread(shared.ours, 0), spread(shared.theirs, 0), ''],
    [
      'most memory of it, largest witness (MiB)',
      peak.toFixed(0),
      largest.toFixed(1),
      `at most ${most.toFixed(0)}: three witnesses and 300${losing(peak > most)}`,
    ],
  ]
}

/** Prints the table of followers as processes. */
export async function followNodesBench() {
  const chain = await generatedChain(CHAIN)
  const genesis = path.join(chain.dir, 'genesis.json')
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-follow-nodes-'))
  try {
    const rows = [
      ...(await catchUpRows(dir, chain, genesis)),
      ...(await headRows(dir, chain, genesis)),
      ...(await tracesRows(dir, chain, genesis)),
    ]
    table('follow', ['row', 'follower', 'upstream', 'wanted'], rows, 'Followers beside their upstreams')
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
