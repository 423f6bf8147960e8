// Steps per second inside the pipeline, without RPC: scripts in their own processes, and the same
// functions as hooks of this process.
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { resolveSettings } from '../../dist/config/index.js'
import { openNode } from '../../dist/core/native.js'
import { traceWith } from '../../dist/hooks/index.js'
import { nodeConfig } from '../../dist/node/node-config.js'
import { scriptOf } from '../../dist/tracer/script.js'
import { loopParams } from './memory.mjs'
import { median, spread, table } from './stats.mjs'

const STEPS = 10_000_000
const PAIRS = 3
/** How many times the speed of a process of its own hooks are wanted to have. */
const WANTED = 0.9

function answer() {
  return this.n
}
/** @returns {[hooks: Record<string, any>, state: Record<string, any>]} */
const counting = (step) => [{ step, result: answer }, { n: 0 }]

/**
 * Tracers as functions that see nothing of what stands around them, and their state.
 *
 * @type {[name: string, [hooks: Record<string, any>, state: Record<string, any>]][]}
 */
const HOOKS = [
  [
    'count steps',
    counting(function () {
      this.n++
    }),
  ],
  [
    'opcode histogram',
    [
      {
        step(log) {
          const k = log.op.toString()
          this.c[k] = (this.c[k] || 0) + 1
        },
        result() {
          return this.c
        },
      },
      { c: {} },
    ],
  ],
  [
    'pc, gas, cost, depth, op number',
    counting(function (log) {
      this.n += log.getPC() + log.getGas() + log.getCost() + log.getDepth() + log.op.toNumber()
    }),
  ],
  [
    'stack.peek(0) and compare',
    counting(function (log) {
      if (log.stack.length() > 0 && log.stack.peek(0).equals(1)) this.n++
    }),
  ],
  [
    'db.exists(contract address)',
    counting(function (log, db) {
      if (db.exists(log.contract.getAddress())) this.n++
    }),
  ],
]

async function textOf(stream) {
  const parts = []
  for (let part = await stream.next(); part !== null; part = await stream.next()) parts.push(Buffer.from(part))
  return Buffer.concat(parts).toString('utf8')
}

/** The row of one tracer: rates as hooks and as text, in turn. */
async function row(core, [name, [hooks, state]]) {
  const [transaction, block, { stateOverrides }] = loopParams(STEPS)
  const args = { transaction, block, stateOverrides }
  const config = { tracer: scriptOf(hooks, state), timeout: '300s' }
  const rates = { own: [], text: [] }
  let equal = true
  for (let i = 0; i < PAIRS; i++) {
    const began = performance.now()
    // The arguments are those of JSON-RPC, which have no types here.
    const trace = /** @type {any} */ (traceWith(core))
    const own = JSON.stringify(await trace('traceCall', args, { ...structuredClone(state), ...hooks }))
    const then = performance.now()
    const text = await textOf(core.stream('traceCall', { ...args, config }))
    rates.own.push(STEPS / 1e3 / (then - began))
    rates.text.push(STEPS / 1e3 / (performance.now() - then))
    equal &&= own === text
  }
  const ratio = median(rates.own) / median(rates.text)
  const cell = `${ratio.toFixed(2)}${ratio < WANTED ? '  LOSING' : ''}`
  return [name, spread(rates.text, 2), spread(rates.own, 2), cell, `>= ${WANTED}`, equal ? 'equal' : 'DIFFERENT']
}

/** Table of `npm run bench -- js`. */
export async function pipelineTable() {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-js-'))
  const { settings } = resolveSettings({})
  const core = await openNode(nodeConfig(home, 'dev', settings))
  try {
    const rows = []
    for (const hooks of HOOKS) rows.push(await row(core, hooks))
    const heading = [
      `${STEPS / 1e6} M steps (M steps/s)`,
      'in processes of their own',
      'hooks of this process',
      'ratio',
      'wanted',
      'answers',
    ]
    table('js', heading, rows, 'inside the pipeline, without RPC')
  } finally {
    await core.close()
    fs.rmSync(home, { recursive: true, force: true })
  }
}
