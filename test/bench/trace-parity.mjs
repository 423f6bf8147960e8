// The namespace trace beside the tracers of debug_* that record the same, on one node and one
// generated chain, and beside go-ethereum's flatCallTracer, in interleaved pairs; searches by
// account through a long chain, and what the index of accounts costs a commit.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from './chain.mjs'
import { commitRow } from './parity/commit.mjs'
import { memoryRow, pair, verdict } from './parity/rows.mjs'
import { searchRows } from './parity/search.mjs'
import { importChain, serveHearth } from './process.mjs'
import { result } from './rpc.mjs'
import { table } from './stats.mjs'
import { startGeth } from './trace.mjs'

const CHAIN = { blocks: 24, least: 200, most: 1400 }

/** Gas of the call whose vmTrace is measured: about three million instructions. */
const LONG_CALL_GAS = 12_000_000

/** Runs work with a folder of its own. */
async function withFolder(work) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-parity-'))
  try {
    return await work(dir)
  } finally {
    fs.rmSync(dir, { recursive: true, force: true })
  }
}

/** @typedef {import('./parity/rows.mjs').Request} Request */

/** Rows of one block, beside the tracers of the same node. */
async function ownRows(node, tag, size) {
  /** @returns {Request} */
  const replay = (...types) => [node.url, 'trace_replayBlockTransactions', [tag, types]]
  /** @returns {Request} */
  const debug = (config) => [node.url, 'debug_traceBlockByNumber', [tag, { timeout: '300s', ...config }]]
  const diff = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }
  /** @type {[name: string, own: Request, peer: Request, atMost: number][]} */
  const rows = [
    ['replay trace beside callTracer', replay('trace'), debug({ tracer: 'callTracer' }), 1.1],
    ['trace_block beside flatCallTracer', [node.url, 'trace_block', [tag]], debug({ tracer: 'flatCallTracer' }), 1.1],
    ['replay stateDiff beside prestateTracer diffMode', replay('stateDiff'), debug(diff), 1.1],
    // The same steps on both sides: half as many a second is twice the time.
    ['replay vmTrace beside struct logs', replay('vmTrace'), debug({}), 2],
  ]
  const measured = []
  for (const [name, own, peer, atMost] of rows) measured.push(await pair(`${name}, ${size} (ms)`, own, peer, { atMost }))
  return measured
}

/** The row of the same block beside go-ethereum; none where that is not installed. */
async function gethRows(node, chain, tag, size) {
  if (spawnSync('geth', ['version']).status !== 0) {
    console.log('skipped: geth is not on the PATH, so nothing to compare with')
    return []
  }
  return withFolder(async (home) => {
    const geth = await startGeth(chain, home)
    try {
      /** @type {Request} */
      const peer = [geth.url, 'debug_traceBlockByNumber', [tag, { tracer: 'flatCallTracer', timeout: '300s' }]]
      return [
        await pair(`trace_block beside geth's flatCallTracer, ${size} (ms)`, [node.url, 'trace_block', [tag]], peer, { atLeast: 2.5 }),
      ]
    } finally {
      await geth.stop()
    }
  })
}

/** Rows on the generated chain. */
const blockRows = () =>
  withFolder(async (home) => {
    const chain = await generatedChain(CHAIN)
    importChain(home, chain)
    const node = await serveHearth(home)
    try {
      // First, while no other trace has grown the memory of the node.
      const memory = await memoryRow(node, LONG_CALL_GAS, 64)
      const tag = `0x${chain.blocks.toString(16)}`
      const block = await result(node.url, 'eth_getBlockByNumber', [tag, false])
      const size = `${block.transactions.length} transactions, ${(Number(block.gasUsed) / 1e6).toFixed(0)} Mgas`
      return [...(await ownRows(node, tag, size)), ...(await gethRows(node, chain, tag, size)), memory]
    } finally {
      await node.stop()
    }
  })

/** The rows of a part; one that fails says so and does not end the bench. */
async function part(name, rows) {
  try {
    return await rows()
  } catch (e) {
    return [[name, 'failed', '', '', `${e.message}${verdict(false)}`]]
  }
}

/** The rows of `npm run bench -- trace-parity`. */
export async function traceParityBench() {
  const rows = [
    ...(await part('traces of a block', blockRows)),
    ...(await part('searches by account', searchRows)),
    ...(await part('import with the address index', async () => [await commitRow(1.02)])),
  ]
  table('trace-parity', ['row', 'trace_*', 'peer', 'ratio', 'wanted'], rows)
}
