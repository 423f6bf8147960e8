// The explorer on large transactions: how soon its pages are drawn, how smoothly lists scroll, what
// steps in pieces take beside the execution alone, and what the page costs the start of a node.
import fs from 'node:fs'
import { openBrowser } from '../browser/index.mjs'
import { devNode } from './dev-nodes.mjs'
import { freePort } from './process.mjs'
import { ask, result } from './rpc.mjs'
import { answerMs, devArgs } from './start.mjs'
import { median, spread, table } from './stats.mjs'

/** Rounds of each row; each has a transaction of its own, so that no index is ready before. */
const ROUNDS = Number(process.env.EXPLORER_ROUNDS ?? 5)

/** Pairs of starts. */
const STARTS = Number(process.env.EXPLORER_STARTS ?? 15)

/** How long a list is scrolled, in milliseconds, how often, and by how many pixels. */
const SCROLL_MS = Number(process.env.EXPLORER_SCROLL_MS ?? 10_000)
const WHEEL_EVERY_MS = 16
const WHEEL_PIXELS = 480

/** What rows want: milliseconds, and mebibytes. */
const PAINTED_MS = 1000
const TASK_MS = 50
const FRAME_MS = 20
const LAST_STEPS_MS = 300
const INDEX_MS = 150
const FLAT_MIB = 8

const PAGE_MS_MAX = 60_000

const FROM = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'

/** The loop of a million steps: 7 a round, as often as its call data says. */
const LOOP = '0x6000355b600190038060035700'
const ROUNDS_OF_LOOP = 142_857

/** 10,000 calls of an account without code. */
const CALLS = '0x6127105b600080808080611234619c40f15060019003806003570000'

/** JUMPDEST after JUMPDEST, until the gas is out: 1 gas a step. */
const JUMPDESTS = `0x${'5b'.repeat(24_000)}600056`

/** The most gas of a transaction (EIP-7825). */
const GAS_MAX = '0x1000000'

const counter = (n) => `0x${n.toString(16).padStart(64, '0')}`

/** Mines transactions to code that is put at an address. */
async function mined(url, place, code, data, count) {
  const to = `0x${place.toString(16).padStart(40, '0')}`
  await result(url, 'anvil_setCode', [to, code])
  const hashes = []
  for (let i = 0; i < count; i++) hashes.push(await result(url, 'eth_sendTransaction', [{ from: FROM, to, gas: GAS_MAX, data }]))
  return hashes
}

const residentMib = (pid) => Number(/^VmRSS:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024

/** Records when a page was painted with its first row, in milliseconds from the navigation. */
const watchPaint = (selector) => `{
  const look = () => {
    if (document.documentElement?.dataset.painted !== undefined && document.querySelector(${JSON.stringify(selector)}) !== null)
      globalThis.paintedMs ??= performance.now()
    else requestAnimationFrame(look)
  }
  look()
}`

/** Milliseconds from a navigation until a page is drawn. */
async function paintedMs(browser, url, selector) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 860 } })
  await page.addInitScript(watchPaint(selector))
  await page.goto(url)
  for (const until = Date.now() + PAGE_MS_MAX; Date.now() < until; ) {
    const ms = await page.evaluate('globalThis.paintedMs ?? null')
    if (ms !== null) return { ms, page }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`${url} does not show ${selector}`)
}

/** Scrolls a list: the longest task and the 95th percentile of frame times, in milliseconds. */
async function scrolled(page, list) {
  const { x, y, width, height } = await page.locator(list).first().boundingBox()
  await page.mouse.move(x + width / 2, y + Math.min(height, 400) / 2)
  await page.evaluate(`{
    globalThis.tasks = [0]
    globalThis.frames = []
    new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) tasks.push(duration) }).observe({ entryTypes: ['longtask'] })
    let last = performance.now()
    const tick = (now) => { frames.push(now - last); last = now; requestAnimationFrame(tick) }
    requestAnimationFrame(tick)
  }`)
  let down = 1
  for (let i = 0, until = Date.now() + SCROLL_MS; Date.now() < until; i++) {
    if (i % 100 === 99) down = -down
    await page.mouse.wheel(0, down * WHEEL_PIXELS)
    await new Promise((resolve) => setTimeout(resolve, WHEEL_EVERY_MS))
  }
  const { tasks, frames } = await page.evaluate('({ tasks, frames: frames.slice(1) })')
  frames.sort((a, b) => a - b)
  return { task: Math.max(...tasks), frame: frames[Math.floor(frames.length * 0.95)] }
}

const verdict = (value, most) => (value <= most ? 'met' : 'MISSED')

/**
 * Rows of one kind of page.
 *
 * @param {string} url
 * @param {any} browser
 * @param {unknown[][]} rows
 * @param {{ name: string, hashes: string[], path: string, filled: string, list?: string }} page
 */
async function pageRows(url, browser, rows, { name, hashes, path, filled, list }) {
  const [painted, tasks, frames] = [[], [], []]
  for (const hash of hashes) {
    const { ms, page } = await paintedMs(browser, `${url}/tx/${hash}${path}`, filled)
    painted.push(ms)
    if (list !== undefined) {
      const { task, frame } = await scrolled(page, list)
      tasks.push(task)
      frames.push(frame)
    }
    await page.close()
  }
  const row = (what, values, most) =>
    rows.push([`${name}: ${what} (ms)`, spread(values, 0), '', `< ${most}`, verdict(median(values), most)])
  row('navigation to painted', painted, PAINTED_MS)
  if (list === undefined) return
  row('longest task of scrolling, 0 where none is over 50', tasks, TASK_MS)
  row('frame times of scrolling, 95th percentile', frames, FRAME_MS)
}

/** A method beside the execution of the same transaction alone, in turns. */
async function methodRow(url, rows, { name, hashes, method, options, most }) {
  const [ours, alone] = [[], []]
  for (const [i, hash] of hashes.entries()) {
    const turns = [
      async () => ours.push((await ask(url, method, [hash, options])).ms),
      async () => alone.push((await ask(url, 'debug_traceTransaction', [hash, { tracer: 'noopTracer' }])).ms),
    ]
    for (const turn of i % 2 === 0 ? turns : turns.reverse()) await turn()
  }
  rows.push([`${name} (ms)`, spread(ours, 0), spread(alone, 0), `< ${most}`, verdict(median(ours), most)])
}

/** Milliseconds from the spawn of a development chain to its first answer. */
async function startMs(flags) {
  const port = await freePort()
  return answerMs([...(await devArgs(port)), ...flags], port)
}

async function startRows(rows) {
  const measured = { on: [], off: [], again: [] }
  const sides = [
    ['on', []],
    ['off', ['--evm.explorer=false']],
    ['again', ['--evm.explorer=false']],
  ]
  for (let round = 0; round < STARTS; round++) {
    for (let i = 0; i < sides.length; i++) {
      const [side, flags] = sides[(round + i) % sides.length]
      measured[side].push(await startMs(flags))
    }
  }
  const most = Math.max(...measured.off.map((ms, i) => Math.abs(ms - measured.again[i])))
  const difference = Math.abs(median(measured.on) - median(measured.off))
  rows.push([
    'start of hearth dev, beside explorer off (ms)',
    spread(measured.on, 0),
    spread(measured.off, 0),
    'as A/A',
    verdict(difference, most),
  ])
  rows.push(['start of hearth dev, explorer off twice (ms)', spread(measured.again, 0), spread(measured.off, 0), '', ''])
}

/** Memory of a node before and behind reads of ever longer transactions. */
async function memoryRow(node, rows, million, sixteen) {
  const read = async (hash) => {
    const { steps } = await result(node.url, 'debug_traceStepIndex', [hash, {}])
    for (const from of [0, steps >> 1, steps - 1000]) await result(node.url, 'debug_traceSteps', [hash, { from, to: from + 1000 }])
  }
  const [small, large] = [[], []]
  for (const hash of million) {
    await read(hash)
    small.push(residentMib(node.pid))
  }
  for (const hash of sixteen) {
    await read(hash)
    large.push(residentMib(node.pid))
  }
  const growth = median(large) - median(small)
  rows.push([
    'resident memory at 16.7 M steps, beside 1 M (MiB)',
    spread(large, 0),
    spread(small, 0),
    `within ${FLAT_MIB}`,
    verdict(growth, FLAT_MIB),
  ])
}

/** The bench behind `npm run bench -- explorer`. */
export async function explorerBench() {
  const rows = []
  const opened = await openBrowser()
  const node = await devNode('hearth', ['--silent'])
  const { url } = node
  try {
    const million = await mined(url, 0x7001, LOOP, counter(ROUNDS_OF_LOOP), 3 * ROUNDS)
    const sixteen = await mined(url, 0x7002, JUMPDESTS, '0x', 2 * ROUNDS)
    const calls = await mined(url, 0x7003, CALLS, '0x', 2 * ROUNDS)
    const part = (list, i) => list.slice(i * ROUNDS, (i + 1) * ROUNDS)
    if ('missing' in opened) rows.push(['pages', 'skipped', '', '', opened.missing])
    else {
      const { browser } = opened
      const steps = { path: '/steps', filled: '[data-testid=step-row] .op:not(.waiting)', list: '.vlist:has([data-testid=step-row])' }
      await pageRows(url, browser, rows, { name: 'a million steps', hashes: part(million, 0), ...steps })
      const tree = { path: '', filled: '[data-testid=frame-row]', list: '[data-testid=tree]' }
      await pageRows(url, browser, rows, { name: '10,001 calls as a tree', hashes: part(calls, 0), ...tree })
      const flame = { path: '/flame', filled: '[data-testid=flame] canvas' }
      await pageRows(url, browser, rows, { name: '10,001 calls as a flame', hashes: part(calls, 1), ...flame })
    }
    const { steps } = await result(url, 'debug_traceStepIndex', [sixteen[0], {}])
    const last = { from: steps - 1000, to: steps }
    const ofSteps = { hashes: part(sixteen, 0), method: 'debug_traceSteps', options: last, most: LAST_STEPS_MS }
    await methodRow(url, rows, { name: `the last steps of ${steps}, beside noopTracer`, ...ofSteps })
    const ofIndex = { hashes: part(million, 1), method: 'debug_traceStepIndex', options: {}, most: INDEX_MS }
    await methodRow(url, rows, { name: 'index of a million steps, beside noopTracer', ...ofIndex })
    await memoryRow(node, rows, part(million, 2), part(sixteen, 1))
  } finally {
    await node.stop()
    if ('browser' in opened) await opened.browser.close()
  }
  await startRows(rows)
  table('explorer', ['row', 'hearth', 'other', 'wanted', ''], rows)
}
