// JavaScript tracers over RPC: Hearth, geth and anvil on one loop and one block, in interleaved
// pairs; the answers are compared first.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { haveAnvil, startAnvil } from './anvil.mjs'
import { generatedChain } from './chain.mjs'
import { attackTables } from './js-attacks.mjs'
import { blocksTable } from './js-blocks.mjs'
import { pipelineTable } from './js-pipeline.mjs'
import { HISTOGRAM, loop, SCRIPTS, script, TOKEN_GAS, token } from './js-scripts.mjs'
import { importChain, memoryMiB, serveHearth } from './process.mjs'
import { ask, canonical, result } from './rpc.mjs'
import { median, spread, table } from './stats.mjs'
import { startGeth } from './trace.mjs'

/** The chain of the trace bench; a block of about this many transactions is taken. */
const CHAIN = { blocks: 24, least: 200, most: 1400 }
const BLOCK_TRANSACTIONS = 961

/**
 * Steps of the loop: about 10 Mgas. The peers would take up to half a minute for so many, so they
 * get fewer: their rates do not depend on it.
 */
const STEPS = 2_900_000
const GETH_STEPS = 500_000
const ANVIL_STEPS = 100_000
/** Steps of the row about memory. */
const LONG_STEPS = 10_000_000

const PAIRS = 3

/** A script that leaves its mark on its engine, so that nothing of it could be used again. */
const ALTERING = script('c:{}', 'var k=log.op.toString();counts=this.c;this.c[k]=(this.c[k]||0)+1', '(Array.prototype.mark=1,this.c)')

/** @typedef {{ ours: any, theirs?: any, anvil?: any }} Sides */

/**
 * Rates in millions of steps per second of each available side, measured in turns.
 *
 * @param {[name: string, script: string, wanted: number]} script
 * @param {Sides} sides
 */
async function loopRow([name, tracer, wanted], { ours, theirs, anvil }) {
  const answers = theirs && (await Promise.all([ours, theirs].map((side) => result(side.url, ...loop(100_000, tracer)))))
  const equal = answers === undefined ? 'not compared' : canonical(answers[0]) === canonical(answers[1]) ? 'equal' : 'DIFFERENT'
  const rates = { ours: [], theirs: [] }
  await ask(ours.url, ...loop(STEPS, tracer))
  for (let i = 0; i < PAIRS; i++) {
    rates.ours.push(STEPS / 1e3 / (await ask(ours.url, ...loop(STEPS, tracer))).ms)
    if (theirs) rates.theirs.push(GETH_STEPS / 1e3 / (await ask(theirs.url, ...loop(GETH_STEPS, tracer))).ms)
  }
  const third = anvil ? await anvilRate(tracer, ours, anvil) : 'skipped'
  return [name, spread(rates.ours, 2), ...compared(rates.ours, rates.theirs, wanted), third, `>= ${wanted}`, equal]
}

/** anvil's rate; no number where its answer is another, for then it did something else. */
async function anvilRate(tracer, ours, anvil) {
  const request = loop(ANVIL_STEPS, tracer)
  const theirs = await result(anvil.url, ...request).catch(() => undefined)
  if (theirs === undefined || canonical(theirs) !== canonical(await result(ours.url, ...request))) return 'another answer'
  return (ANVIL_STEPS / 1e3 / (await ask(anvil.url, ...request)).ms).toFixed(2)
}

/**
 * The cell of the peer and the ratio of rates; a ratio below the wanted one is marked as losing.
 */
function compared(ours, theirs, wanted) {
  if (theirs.length === 0) return ['skipped', '']
  const ratio = median(ours) / median(theirs)
  return [spread(theirs, 2), `${ratio.toFixed(1)}${ratio < wanted ? '  LOSING' : ''}`]
}

/**
 * A token that is moved until the gas is used up: storage, logs and calls, under the histogram.
 *
 * @param {Sides} sides
 */
async function tokenRow({ ours, theirs }) {
  const counted = await result(ours.url, ...token(TOKEN_GAS, script('n:0', 'this.n++', 'this.n')))
  const answers = theirs && (await Promise.all([ours, theirs].map((side) => result(side.url, ...token(TOKEN_GAS, HISTOGRAM)))))
  const equal = answers === undefined ? 'not compared' : canonical(answers[0]) === canonical(answers[1]) ? 'equal' : 'DIFFERENT'
  const rates = { ours: [], theirs: [] }
  for (let i = 0; i < PAIRS; i++) {
    rates.ours.push(counted / 1e3 / (await ask(ours.url, ...token(TOKEN_GAS, HISTOGRAM))).ms)
    if (theirs) rates.theirs.push(counted / 1e3 / (await ask(theirs.url, ...token(TOKEN_GAS, HISTOGRAM))).ms)
  }
  const name = `opcode histogram of an ERC-20 loop, ${counted} steps`
  return [name, spread(rates.ours, 2), ...compared(rates.ours, rates.theirs, TOKEN_WANTED), '-', `>= ${TOKEN_WANTED}`, equal]
}

/**
 * The wanted multiple of geth's speed for the loop over a token; the same as for the histogram of
 * the plain loop.
 */
const TOKEN_WANTED = 20

/** How many times geth's speed a block is to be. */
const BLOCK_WANTED = 10

/**
 * A block under a script: transactions a second, so that more is better as in the rows above.
 *
 * @param {string} name
 * @param {string} tag
 * @param {number} count
 * @param {string} tracer
 * @param {Sides} sides
 */
async function blockRow(name, tag, count, tracer, { ours, theirs }) {
  /** @type {[method: string, params: unknown[]]} */
  const request = ['debug_traceBlockByNumber', [tag, { tracer, timeout: '300s' }]]
  const equal = theirs
    ? canonical(await result(ours.url, ...request)) === canonical(await result(theirs.url, ...request))
      ? 'equal'
      : 'DIFFERENT'
    : 'not compared'
  const times = { ours: [], theirs: [] }
  for (let i = 0; i < PAIRS; i++) {
    times.ours.push((await ask(ours.url, ...request)).ms)
    if (theirs) times.theirs.push((await ask(theirs.url, ...request)).ms)
  }
  const ratio = times.theirs.length ? median(times.theirs) / median(times.ours) : undefined
  const cell = ratio === undefined ? '' : `${ratio.toFixed(1)}${ratio < BLOCK_WANTED ? '  LOSING' : ''}`
  const name2 = `${name}, ${count} transactions (ms)`
  return [name2, spread(times.ours, 0), times.theirs.length ? spread(times.theirs, 0) : 'skipped', cell, '-', `>= ${BLOCK_WANTED}`, equal]
}

/** The block of the chain whose number of transactions is nearest to the one wanted. */
async function nearest(url, blocks) {
  let best
  for (let number = 1; number <= blocks; number++) {
    const tag = `0x${number.toString(16)}`
    const count = Number(await result(url, 'eth_getBlockTransactionCountByNumber', [tag]))
    if (best === undefined || Math.abs(count - BLOCK_TRANSACTIONS) < Math.abs(best.count - BLOCK_TRANSACTIONS)) best = { tag, count }
  }
  return best
}

/** Processes of the machine whose parent is `pid`. */
function childrenOf(pid) {
  const r = spawnSync('ps', ['--ppid', String(pid), '-o', 'pid='], { encoding: 'utf8' })
  return (r.stdout ?? '').split('\n').map(Number).filter(Boolean)
}

/** Starts of a node whose first request has a script. */
const STARTS = 9

/**
 * Milliseconds of the first request of a node, one with a script, sent as soon as the node answers:
 * it waits for a process to start.
 */
async function firstRequests(home) {
  const times = []
  for (let i = 0; i < STARTS; i++) {
    const node = await serveHearth(home)
    try {
      times.push((await ask(node.url, ...loop(1000, SCRIPTS[0][1]))).ms)
    } finally {
      await node.stop()
    }
  }
  return times
}

/** What a request costs before the first step, and what long traces cost in memory. */
async function costs(ours, firsts) {
  const empty = loop(1000, SCRIPTS[0][1])
  const warm = []
  for (let i = 0; i < 50; i++) warm.push((await ask(ours.url, ...empty)).ms)
  await ask(ours.url, ...loop(LONG_STEPS, HISTOGRAM))
  const peak = (pid) => `${memoryMiB(pid, 'VmHWM')?.toFixed(0) ?? '?'} MiB`
  const children = childrenOf(ours.pid)
  table(
    'js',
    ['what', 'value'],
    [
      ['first request with a script after the start (ms)', spread(firsts)],
      ['request with a script over 1000 steps (ms)', spread(warm)],
      [`peak memory of the node after ${LONG_STEPS / 1e6} M steps`, peak(ours.pid)],
      [`peak memory of each process of scripts`, children.map(peak).join(', ')],
    ],
    'cost of a request',
  )
}

/** Attacks alone: `npm run bench -- js-attacks`. */
export async function jsAttacksBench() {
  const chain = await generatedChain(CHAIN)
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-js-'))
  importChain(home, chain)
  const node = await serveHearth(home)
  try {
    await attackTables(node)
  } finally {
    await node.stop()
    fs.rmSync(home, { recursive: true, force: true })
  }
}

/** What is measured without go-ethereum: `npm run bench -- js-pipeline`. */
export async function jsPipelineBench() {
  await pipelineTable()
  await blocksTable()
}

/** The bench behind `npm run bench -- js`. */
export async function jsBench() {
  const chain = await generatedChain(CHAIN)
  const homes = [0, 1].map(() => fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-bench-js-')))
  importChain(homes[0], chain)
  const firsts = await firstRequests(homes[0])
  /** @type {Sides} */
  const sides = { ours: await serveHearth(homes[0]) }
  try {
    if (spawnSync('geth', ['version']).status === 0) sides.theirs = await startGeth(chain, homes[1])
    else console.log('skipped: geth is not on the PATH, so nothing to compare with')
    if (haveAnvil()) sides.anvil = await startAnvil()
    const rows = []
    const add = (row) => {
      rows.push(row)
      console.error(row.join(' | '))
    }
    for (const row of SCRIPTS) add(await loopRow(row, sides))
    add(await tokenRow(sides))
    const { tag, count } = await nearest(sides.ours.url, chain.blocks)
    add(await blockRow('histogram of a block', tag, count, HISTOGRAM, sides))
    add(await blockRow('the same, altering globals', tag, count, ALTERING, sides))
    const heading = ['push/pop loop (M steps/s)', 'hearth', 'geth', 'hearth over geth', 'anvil 1.7.1', 'wanted', 'answers']
    table('js', heading, rows)
    await costs(sides.ours, firsts)
    await attackTables(sides.ours)
  } finally {
    await sides.anvil?.stop()
    await sides.theirs?.stop()
    await sides.ours.stop()
    for (const home of homes) fs.rmSync(home, { recursive: true, force: true })
  }
  await jsPipelineBench()
}
