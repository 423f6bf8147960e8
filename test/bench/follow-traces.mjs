// Traces of blocks through a follower of go-ethereum, beside go-ethereum's own of the same blocks.
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { follower, hex, losing, reached, TRACE } from './follow-process.mjs'
import { freePort, HEARTH, run, started } from './process.mjs'
import { ask } from './rpc.mjs'
import { median, spread } from './stats.mjs'

/** Times that a block is requested of each side, the sides in turn. */
const REQUESTS = 3

/** Requests that warm each side up: V8 compiles what it runs most. */
const WARM = 40

/** The goals: how many times as fast as go-ethereum. */
const WANTED = { computed: 5, baked: 50 }

/** A trace of a block; throws where it was not made as `from` says (`x-hearth-trace`). */
async function traced(url, block, from) {
  const { ms, headers } = await ask(url, 'debug_traceBlockByNumber', [block, TRACE])
  if (headers['x-hearth-trace'] !== from) throw new Error(`block ${block}: from ${headers['x-hearth-trace']}, and not ${from}`)
  return ms
}

/** Milliseconds of a side's first request for each block, and the medians of those after it. */
async function times(url, other, blocks, from) {
  const first = []
  for (const block of blocks) first.push(await traced(url, block, from))
  for (let i = 0; i < WARM; i++) await traced(url, blocks[i % blocks.length], from)
  const rows = []
  for (const block of blocks) {
    const [own, theirs] = [[], []]
    for (let i = 0; i < REQUESTS; i++) {
      const pair = [async () => own.push(await traced(url, block, from)), async () => theirs.push(await traced(other, block))]
      for (const side of i % 2 ? pair.reverse() : pair) await side()
    }
    rows.push({ own: median(own), other: median(theirs) })
  }
  const others = rows.map(({ other }) => other)
  return { first, own: rows.map(({ own }) => own), others }
}

/** A row: both sides, and the median of the blocks' ratios. */
function row(name, own, others, least) {
  const ratio = median(own.map((ms, i) => others[i] / ms))
  return [
    name,
    spread(own, 2),
    spread(others),
    `${ratio.toFixed(1)} times as fast${least === undefined ? '' : `, at least ${least}${losing(ratio < least)}`}`,
  ]
}

/** The rows. */
export async function tracesRows(dir, chain, genesis) {
  if (spawnSync('geth', ['version']).status !== 0) {
    console.log('skipped: geth is not on the PATH, so traces have nothing to compare with')
    return []
  }
  const data = ['--datadir', path.join(dir, 'geth'), '--state.scheme', 'hash']
  const archive = [...data, '--gcmode', 'archive', '--verbosity', '1']
  run('geth', [...data, 'init', genesis])
  run('geth', [...archive, '--syncmode', 'full', 'import', path.join(chain.dir, 'chain.rlp')])
  const [port, engine] = [await freePort(), await freePort()]
  const listen = ['--http', '--http.port', port, '--http.api', 'eth,debug,net,web3', '--authrpc.port', engine, '--port', 0]
  const alone = ['--nodiscover', '--maxpeers', 0, '--nat', 'none', '--ipcdisable', '--syncmode', 'full']
  const geth = await started('geth', [...archive, ...listen, ...alone].map(String), port)
  const home = path.join(dir, 'of-geth')
  const blocks = Array.from({ length: chain.blocks }, (_, i) => hex(i + 1))
  const measure = async (settings, from) => {
    const node = await follower(home, geth.url, genesis, { settings })
    try {
      await reached(node.url, chain.blocks)
      return await times(node.url, geth.url, blocks, from)
    } finally {
      await node.stop()
    }
  }
  try {
    for (let i = 0; i < WARM / 2; i++) await traced(geth.url, blocks[i % blocks.length])
    const computed = await measure(['--evm.trace_bake_enabled=false'], 'capsule')
    run(process.execPath, [HEARTH, 'bake', '--home', home])
    const baked = await measure(['--evm.trace_bake_enabled=true'], 'baked')
    return [
      row(
        'callTracer of a block through a follower, from its capsule; go-ethereum’s own (ms)',
        computed.own,
        computed.others,
        WANTED.computed,
      ),
      row('the same, baked, from memory (ms)', baked.own, baked.others, WANTED.baked),
      row('the same, baked, first request of each block, from disk (ms)', baked.first, baked.others),
    ]
  } finally {
    await geth.stop()
  }
}
