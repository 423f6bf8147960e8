// The trace namespace beside the tracers of debug_* that record the same, on one node and one generated chain, in interleaved pairs.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { generatedChain } from './chain.mjs'
import { importChain, serveHearth } from './process.mjs'
import { ask, result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'

const CHAIN = { blocks: 24, least: 200, most: 1400 }

/** Interleaved pairs a row. */
const PAIRS = 15

/** Asks that are not measured before a row's pairs. */
const WARM = 3

/** One row: how long the first request takes for the second one. `atMost`: the ratio that is wanted. */
async function pair(url, name, [method, params], [peer, peerParams], atMost) {
  for (let i = 0; i < WARM; i++) {
    await ask(url, method, params)
    await ask(url, peer, peerParams)
  }
  const times = { own: [], peer: [] }
  for (let i = 0; i < PAIRS; i++) {
    const own = async () => times.own.push((await ask(url, method, params)).ms)
    const other = async () => times.peer.push((await ask(url, peer, peerParams)).ms)
    for (const run of i % 2 ? [other, own] : [own, other]) await run()
  }
  const ratios = times.own.map((ms, i) => ms / times.peer[i])
  const losing = median(ratios) > atMost ? '  LOSING' : ''
  return [name, spread(times.own), spread(times.peer), `${spread(ratios, 2)}, at most ${atMost}${losing}`]
}

/** The rows of `npm run bench -- trace-parity`. */
export async function traceParityBench() {
  const chain = await generatedChain(CHAIN)
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-parity-'))
  importChain(home, chain)
  const node = await serveHearth(home)
  try {
    const tag = `0x${chain.blocks.toString(16)}`
    const block = await result(node.url, 'eth_getBlockByNumber', [tag, false])
    const size = `${block.transactions.length} transactions, ${(Number(block.gasUsed) / 1e6).toFixed(0)} Mgas`
    const replay = (...types) => ['trace_replayBlockTransactions', [tag, types]]
    const debug = (config) => ['debug_traceBlockByNumber', [tag, { timeout: '300s', ...config }]]
    const rows = [
      await pair(node.url, `replay trace for callTracer, ${size} (ms)`, replay('trace'), debug({ tracer: 'callTracer' }), 1.1),
      await pair(node.url, 'trace_block for flatCallTracer (ms)', ['trace_block', [tag]], debug({ tracer: 'flatCallTracer' }), 1.1),
      await pair(
        node.url,
        'replay stateDiff for prestateTracer diffMode (ms)',
        replay('stateDiff'),
        debug({ tracer: 'prestateTracer', tracerConfig: { diffMode: true } }),
        1.1,
      ),
      await pair(node.url, 'replay vmTrace for struct logs (ms)', replay('vmTrace'), debug({}), 2),
    ]
    table('trace-parity', ['row', 'trace_*', 'debug_*', 'ratio'], rows)
  } finally {
    await node.stop()
    fs.rmSync(home, { recursive: true, force: true })
  }
}
