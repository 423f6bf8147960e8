// Hearth in a script compared with the same work over HTTP: the same home, opened in this process
// and served by another node, in turns.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createDevNode, openNode, scriptOf } from 'hearth'
import { hearth } from 'hearth/viem'
import { createPublicClient, http } from 'viem'
import { cargo } from '../../native/setup/cargo.mjs'
import { TARGET } from '../../native/setup/env.mjs'
import { generatedChain } from './chain.mjs'
import { importChain, memoryMiB, serveHearth } from './process.mjs'
import { median, spread, table } from './stats.mjs'

/** Rounds of each pair. */
const PAIRS = 3

/** Requests of a round, and how many are under way at once. */
const REQUESTS = 3000
const AT_ONCE = 16

/** Blocks of the chain of logs: the generator gives about two logs a block. */
const LOG_BLOCKS = Number(process.env.HEARTH_TEST_LOG_BLOCKS ?? 500_000)
const LOG_SEED = 7
const GENERATOR = path.join(TARGET, 'release/examples/generate_logs')
const LOG_SEGMENT_BYTES = 64 * 1024 * 1024

/** Heights of one eth_getLogs. */
const LOG_RANGE = 20_000

/** The chain of traces. */
const CHAIN = { blocks: 1000, least: 1, most: 20 }

/** Steps of the loop under a callback, and of the runs that compare memory. */
const STEPS = 10_000_000

/** Rows of the row about memory, and how much of them is skipped before memory is looked at. */
const ROWS = 10_000_000
const WARM_ROWS = 1_000_000

/** JUMPDEST, PUSH1 1, POP, PUSH1 0, JUMP: five instructions and 14 gas for a turn. */
const LOOP = '0x5b600150600056'
const LOOP_AT = `0x${'cc'.repeat(20)}`
const TURN_STEPS = 5
const TURN_GAS = 14
const CALL_GAS = 21_000

const hex = (n) => `0x${n.toString(16)}`
const seconds = (began) => (performance.now() - began) / 1000
const verdict = (ratio, wanted) => `>= ${wanted}x${ratio >= wanted ? '' : '  MISSED'}`

/** Runs work many times, some at once; how many a second. */
async function rate(work) {
  const began = performance.now()
  let next = 0
  const worker = async () => {
    while (next < REQUESTS) await work(next++)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return REQUESTS / seconds(began)
}

/** A row of rates: ours, theirs, the ratio of the medians, and what is wanted. */
function row(name, unit, ours, theirs, wanted) {
  const ratio = median(ours) / median(theirs)
  return [name, unit, spread(ours), spread(theirs), ratio.toFixed(2), wanted === undefined ? '-' : verdict(ratio, wanted)]
}

/** Rates of all works on a home, the sides in turn, each round on a node of its own. */
async function inTurn(home, works, settings = {}) {
  const rates = works.map(() => ({ ours: [], theirs: [] }))
  for (let i = 0; i < PAIRS; i++) {
    const node = await openNode({ home, settings })
    for (const [at, { ours }] of works.entries()) rates[at].ours.push(await ours(node))
    await node.close()
    const server = await serveHearth(
      home,
      Object.entries(settings).map(([key, value]) => `--${key}=${value}`),
    )
    for (const [at, { theirs }] of works.entries()) rates[at].theirs.push(await theirs(server))
    await server.stop()
    console.error(`script: round ${i + 1} of ${PAIRS} on ${path.basename(home)} is done`)
  }
  return works.map(({ name, unit, wanted }, at) => row(name, unit, rates[at].ours, rates[at].theirs, wanted))
}

/** The requests that viem sends, over either transport. */
async function viemWorks(home) {
  const node = await openNode({ home })
  const [height, [{ from: address }]] = [Number(node.height), await node.receipts({ from: node.height }).toArray()]
  await node.close()
  const stateOverride = [{ address: LOOP_AT, code: '0x435f5260205ff3' }]
  const works = {
    'viem getBalance': (client) => () => client.getBalance({ address }),
    'viem call': (client) => () => client.call({ to: LOOP_AT, stateOverride }),
    'viem getBlock': (client) => (i) => client.getBlock({ blockNumber: BigInt(i % height) }),
  }
  return Object.entries(works).map(([name, work]) => ({
    name,
    unit: 'requests/s',
    wanted: 5,
    ours: (opened) => rate(work(createPublicClient({ transport: hearth(opened) }))),
    theirs: ({ url }) => rate(work(createPublicClient({ transport: http(url) }))),
  }))
}

/** Blocks under callTracer, one after the other. */
function traceWork() {
  const blocks = Array.from({ length: CHAIN.blocks }, (_, i) => i + 1)
  const perSecond = async (trace) => {
    const began = performance.now()
    for (const n of blocks) await trace(n)
    return blocks.length / seconds(began)
  }
  return {
    name: `callTracer over ${CHAIN.blocks} blocks`,
    unit: 'blocks/s',
    ours: (node) => perSecond((n) => node.trace({ block: n }, 'callTracer')),
    theirs: ({ url }) => {
      const client = createPublicClient({ transport: http(url) })
      return perSecond((n) => client.request({ method: 'debug_traceBlockByNumber', params: [hex(n), { tracer: 'callTracer' }] }))
    },
  }
}

function generateLogs(home) {
  const r = spawnSync(GENERATOR, [home, LOG_BLOCKS, LOG_SEED, LOG_SEGMENT_BYTES].map(String), { stdio: ['ignore', 'ignore', 'inherit'] })
  if (r.status !== 0) throw new Error(`${GENERATOR} ended with ${r.status ?? r.signal}`)
}

async function logRow(home) {
  const settings = { 'evm.max_log_no_block': 10_000_000, 'evm.max_log_bytes': '1GiB', 'evm.max_blocks_for_log': 0 }
  const counts = new Set()
  const inProcess = async (node) => {
    const began = performance.now()
    let count = 0
    for await (const log of node.logs({ from: 1 })) count += log.topics.length > 0 ? 1 : 1
    counts.add(count)
    return count / seconds(began)
  }
  const overRpc = async ({ url }) => {
    const began = performance.now()
    let count = 0
    for (let from = 1; from <= LOG_BLOCKS; from += LOG_RANGE) {
      const body = {
        jsonrpc: '2.0',
        id: 1,
        method: 'eth_getLogs',
        params: [{ fromBlock: hex(from), toBlock: hex(Math.min(LOG_BLOCKS, from + LOG_RANGE - 1)) }],
      }
      const response = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
      const { result, error } = /** @type {Record<string, any>} */ (await response.json())
      if (error) throw new Error(error.message)
      for (const log of result) count += log.topics.length > 0 ? 1 : 1
    }
    counts.add(count)
    return count / seconds(began)
  }
  const work = { name: 'logs, one after the other', unit: 'logs/s', ours: inProcess, theirs: overRpc }
  const [[, ...cells]] = await inTurn(home, [work], settings)
  if (counts.size !== 1) throw new Error(`both sides found other numbers of logs: ${[...counts].join(', ')}`)
  return [`${[...counts][0]} logs, one after the other`, ...cells]
}

/**
 * A step callback in this process compared with the same function in a sandbox; millions of steps
 * per second.
 */
async function callbackRow() {
  const node = await createDevNode({
    settings: { 'evm.simulation_gas_limit': 2 ** 40, 'evm.trace_timeout': '1h', 'evm.trace_transaction_timeout': '1h' },
  })
  try {
    const gas = BigInt(CALL_GAS + Math.floor((STEPS * TURN_GAS) / TURN_STEPS))
    const stateOverrides = { [LOOP_AT]: { code: LOOP } }
    /** @type {{ step: (log: any) => void, result: () => unknown, n?: number }} */
    const hooks = {
      step(log) {
        this.n += log.getGas() > 0 ? 1 : 0
      },
      result() {
        return this.n
      },
    }
    const rates = { ours: [], theirs: [] }
    const text = scriptOf(hooks, { n: 0 })
    for (let i = 0; i < PAIRS; i++) {
      let began = performance.now()
      const steps = Number(await /** @type {any} */ (node).trace({ to: LOOP_AT, gas }, { ...hooks, n: 0 }, { stateOverrides }))
      rates.ours.push(steps / 1e6 / seconds(began))
      began = performance.now()
      const config = { tracer: text, timeout: '1h', stateOverrides }
      const params = [{ to: LOOP_AT, gas: hex(gas) }, 'latest', config]
      const theirs = await /** @type {any} */ (node.provider).request({ method: 'debug_traceCall', params })
      if (theirs !== steps) throw new Error(`${steps} steps in this process, ${theirs} in the sandbox`)
      rates.theirs.push(theirs / 1e6 / seconds(began))
    }
    return row('a step callback beside the sandbox', '10^6 steps/s', rates.ours, rates.theirs, 0.9)
  } finally {
    await node.close()
  }
}

/** Memory of this process while rows go by: the highest after a while beside what it was then. */
async function memoryRow(home) {
  const node = await openNode({ home })
  let rows = 0
  let early = 0
  let late = 0
  while (rows < ROWS) {
    for await (const logs of node.logs({ from: 1 }).batches()) {
      rows += logs.length
      const now = memoryMiB(process.pid, 'VmRSS') ?? 0
      if (rows < WARM_ROWS) early = Math.max(early, now)
      else late = Math.max(late, now)
      if (rows >= ROWS) break
    }
  }
  await node.close()
  const ratio = late / early
  return [
    `memory over ${rows} rows`,
    'MiB',
    late.toFixed(0),
    `${early.toFixed(0)} in the first ${WARM_ROWS}`,
    ratio.toFixed(2),
    `<= 1.2x${ratio <= 1.2 ? '' : '  MISSED'}`,
  ]
}

/** Prints the table. */
export async function scriptBench() {
  const built = fs.existsSync(GENERATOR) || (await cargo(['build', '--release', '-p', 'hearth-chain', '--example', 'generate_logs'])) === 0
  if (!built) throw new Error('the generator was not built')
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-script-'))
  try {
    const chain = path.join(dir, 'chain')
    importChain(chain, await generatedChain(CHAIN))
    const rows = await inTurn(chain, [...(await viemWorks(chain)), traceWork()])
    rows.push(await callbackRow())
    const logs = path.join(dir, 'logs')
    generateLogs(logs)
    rows.push(await logRow(logs), await memoryRow(logs))
    table('script', ['work', 'unit', 'in process', 'over HTTP, or beside', 'ratio', 'wanted'], rows)
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}
