// JavaScript tracers over the busiest recorded mainnet blocks.

import { HISTOGRAM, SCRIPTS, script } from './js-scripts.mjs'
import { BUSIEST, haveBlocks, readBlock, serving } from './recorded.mjs'
import { ask, result } from './rpc.mjs'
import { spread, table } from './stats.mjs'

const RUNS = 3
const COUNT = script('n:0', 'this.n++', 'this.n')
const PEEK = SCRIPTS.find(([name]) => name.startsWith('stack.peek'))[1]

/** A block's row: transactions, steps, and the rates under three scripts. */
async function blockRow(name) {
  const { block } = readBlock(name)
  return serving(name, async ({ url }) => {
    /** @returns {[method: string, params: unknown[]]} */
    const request = (tracer) => ['debug_traceBlockByNumber', [block.number, { tracer, timeout: '300s' }]]
    const steps = (await result(url, ...request(COUNT))).reduce((sum, traced) => sum + traced.result, 0)
    const cells = []
    for (const tracer of [COUNT, HISTOGRAM, PEEK]) {
      await ask(url, ...request(tracer))
      const rates = []
      for (let i = 0; i < RUNS; i++) rates.push(steps / 1e3 / (await ask(url, ...request(tracer))).ms)
      cells.push(spread(rates, 2))
    }
    return [name, block.transactions.length, (steps / 1e6).toFixed(2), ...cells]
  })
}

/** Table of `npm run bench -- js`. */
export async function blocksTable() {
  if (!haveBlocks()) return
  const rows = []
  for (const name of BUSIEST) rows.push(await blockRow(name))
  const heading = ['block', 'transactions', 'M steps', 'count steps (M steps/s)', 'opcode histogram', 'stack.peek(0) and compare']
  table('js', heading, rows, 'the busiest recorded mainnet blocks, traced whole')
}
