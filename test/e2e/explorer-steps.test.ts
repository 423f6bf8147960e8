// Steps of any size, in pages and in the explorer: every page, frame and search of recorded blocks
// is that of the whole struct logs, and a million steps or ten thousand calls are a list of a
// hundred rows.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Page } from '../browser/index.mjs'
import { FIXTURES } from '../conformance/fixtures.ts'
import { ALICE, Calls } from './dev-calls.ts'
import {
  BROWSER_MS_MAX,
  closeBrowserAfterAll,
  deploying,
  describeInBrowser,
  IS_FULL,
  PAGE_MS_MAX,
  type Watched,
  watchedPage,
} from './explorer-browser.ts'
import { hearth, type RunningNode, startNode, tempHome } from './harness.ts'

/** A million steps: 142,857 rounds of 7 steps, 2 steps before them and 4 behind. */
const ROUNDS = 142_857
const STEPS = 2 + 7 * ROUNDS + 4

/** A loop that runs as often as its call data says, of 7 steps a round; then SSTORE and STOP. */
const STORING = '6000355b6001900380600357600160005500'

/** Calls an account without code 10,000 times: 10,001 frames. */
const CALLING = '6127105b600080808080611234619c40f15060019003806003570000'

/** Most rows that a list has in the document, at any place. */
const ROWS_MAX = 120

/** Bytes that the page of a million steps may take over the wire, and memory of the node. */
const WIRE_BYTES_MAX = 3_000_000
const MEMORY_BYTES_MAX = 32 * 1024 * 1024

const counter = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`

const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024

closeBrowserAfterAll()
await describeInBrowser('the explorer on large transactions', (browser) => {
  let node: RunningNode
  let dev: Calls
  let view: Watched
  let page: Page
  let wire: Promise<number>[]
  const rows = (): Promise<number> => page.locator('[data-testid=step-row], [data-testid=frame-row]').count()
  const mined = async (code: string, data: string, gas: string): Promise<string> => {
    const made = await dev.send(ALICE, undefined, { gas: '0xf4240', data: deploying(code) })
    const { contractAddress } = await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', made)
    return dev.send(ALICE, contractAddress, { gas, data })
  }
  beforeAll(async () => {
    node = await startNode(['dev'])
    dev = new Calls(node.url)
    view = await watchedPage(browser().browser, node.url)
    page = view.page
    wire = []
    page.on('requestfinished', (request) => {
      wire.push(request.sizes().then(({ responseBodySize, responseHeadersSize }) => responseBodySize + responseHeadersSize))
    })
  }, BROWSER_MS_MAX)
  afterAll(async () => {
    expect(view.bad).toEqual([])
    await page.close()
    expect(await node.stop()).toBe(0)
  })

  it('row 7: steps through a million steps in constant memory', async () => {
    const hash = await mined(STORING, counter(ROUNDS), '0xe00000')
    const steps = STEPS
    // What a first page loads once, the program of the page among it, is not of the steps.
    await dev.call('debug_traceStepIndex', hash, {})
    const before = residentBytes(node.pid)
    wire.length = 0
    await view.open(`/tx/${hash}/steps`, '[data-testid=step-row]')
    expect(await page.locator('[data-testid=step-count]').textContent()).toBe(steps.toLocaleString('en-US'))
    const at = async (step: number, op: string): Promise<void> => {
      await view.shows(`[data-testid=current-step][data-step="${step}"]`)
      await view.shows(`[data-testid=step-row][data-step="${step}"][aria-selected=true]:has-text("${op}")`)
      expect(await rows()).toBeLessThanOrEqual(ROWS_MAX)
    }
    await at(0, 'PUSH1')
    await page.keyboard.press('End')
    await at(steps - 1, 'STOP')
    await page.keyboard.press('g')
    await page.keyboard.type('500000')
    await page.keyboard.press('Enter')
    // The third step of a round of the loop.
    await at(500_000, 'SWAP1')
    await page.keyboard.press('/')
    await page.keyboard.type('SSTORE')
    await page.keyboard.press('Enter')
    await at(steps - 2, 'SSTORE')
    await page.keyboard.press('Home')
    await at(0, 'PUSH1')
    // Any place of the scroll bar, and back and forth with the wheel.
    for (const part of [0.1, 0.33, 0.5, 0.77, 1]) {
      await page.evaluate(
        `(() => { const list = document.querySelector('.vlist.steps') ?? document.querySelector('[data-testid=step-row]').closest('.vlist'); list.scrollTop = (list.scrollHeight - list.clientHeight) * ${part} })()`,
      )
      await expect
        .poll(() => page.locator('[data-testid=step-row] .op:not(.waiting)').count(), { timeout: PAGE_MS_MAX })
        .toBeGreaterThan(10)
      expect(await rows()).toBeLessThanOrEqual(ROWS_MAX)
    }
    const sent = (await Promise.all(wire)).reduce((sum, bytes) => sum + bytes, 0)
    expect(sent).toBeLessThan(WIRE_BYTES_MAX)
    expect(residentBytes(node.pid) - before).toBeLessThan(MEMORY_BYTES_MAX)
  })

  it.skipIf(!IS_FULL)('row 8: shows ten thousand calls as a tree and as a flame', async () => {
    const hash = await mined(CALLING, '0x', '0xe00000')
    await view.open(`/tx/${hash}`, '[data-testid=tree][aria-rowcount="10001"]')
    expect(await rows()).toBeLessThanOrEqual(ROWS_MAX)
    await page.locator('[data-testid=tree]').focus()
    await page.keyboard.press('End')
    await view.shows('[data-testid=frame-row][data-id="0.9999"][aria-selected=true]')
    expect(await rows()).toBeLessThanOrEqual(ROWS_MAX)
    await view.open(`/tx/${hash}/flame`, '[data-testid=flame]')
    expect(await page.locator('[data-testid=flame]').getAttribute('data-frames')).toBe('10001')
    // The flame is drawn: its canvas has more than one colour.
    const colours = `(() => { const c = document.querySelector('[data-testid=flame] canvas'); const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height); return new Set(new Uint32Array(data.buffer)).size })()`
    await expect.poll(() => page.evaluate<number>(colours), { timeout: PAGE_MS_MAX }).toBeGreaterThan(2)
    expect(await rows()).toBeLessThanOrEqual(ROWS_MAX)
  })
})

interface Step {
  readonly index: number
  readonly frame: number
  readonly pc: number
  readonly op: string
  readonly gasCost: number
  readonly depth: number
  readonly error?: string
  readonly stack: readonly string[]
}

interface RawCall {
  readonly calls?: readonly RawCall[]
}

/** Depths of the frames in preorder. */
const depths = (call: RawCall, depth = 0): number[] => [depth, ...(call.calls ?? []).flatMap((one) => depths(one, depth + 1))]

/** A generator of numbers below n (mulberry32). */
function random(seed: number): (n: number) => number {
  let a = seed
  return (n) => {
    a = (a + 0x6d2b79f5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) % n
  }
}

const SLOTS: ReadonlySet<string> = new Set(['SLOAD', 'SSTORE', 'TLOAD', 'TSTORE'])
const top = (step: Step): bigint | undefined => (step.stack.length === 0 ? undefined : BigInt(step.stack.at(-1) as string))
const topics = ({ op, stack }: Step): bigint[] => {
  const count = /^LOG[1-4]$/.test(op) ? Number(op.at(-1)) : 0
  return stack.slice(stack.length - 2 - count, stack.length - 2).map(BigInt)
}

/** Conditions of a search that a random step fulfils, and whether another step does. */
function searchOf(steps: readonly Step[], next: (n: number) => number): { where: object; holds: (step: Step) => boolean } {
  const some = steps[next(steps.length)] as Step
  const all: [string, unknown, (step: Step) => boolean][] = [
    ['op', some.op, ({ op }) => op === some.op],
    ['op', [some.op, 'SLOAD'], ({ op }) => op === some.op || op === 'SLOAD'],
    ['pc', some.pc, ({ pc }) => pc === some.pc],
    ['depth', some.depth, ({ depth }) => depth === some.depth],
    ['frame', some.frame, ({ frame }) => frame === some.frame],
    ['gasCostAtLeast', some.gasCost, ({ gasCost }) => gasCost >= some.gasCost],
    // The step at which a frame fails: REVERT, and what the EVM refuses.
    ['error', true, ({ error, op }) => error !== undefined || op === 'REVERT'],
  ]
  const slot = steps.find((step, i) => i >= some.index && SLOTS.has(step.op))
  if (slot !== undefined) {
    const word = top(slot) as bigint
    all.push(['slot', `0x${word.toString(16)}`, (step) => SLOTS.has(step.op) && top(step) === word])
  }
  const log = steps.find((step, i) => i >= some.index && topics(step).length > 0)
  if (log !== undefined) {
    const [topic] = topics(log) as [bigint]
    all.push(['topic', `0x${topic.toString(16).padStart(64, '0')}`, (step) => topics(step).includes(topic)])
  }
  const chosen = [all[next(all.length)], all[next(all.length)]] as typeof all
  const where = new Map(chosen.map(([name, value]) => [name, value]))
  const kept = [...new Map(chosen.map((one) => [one[0], one])).values()]
  return { where: Object.fromEntries(where), holds: (step) => kept.every(([, , holds]) => holds(step)) }
}

const BLOCKS = [12459406, 18085863, 19426586]
const areThere = BLOCKS.every((block) => fs.existsSync(path.join(FIXTURES, 'mainnet-blocks', `${block}.json.gz`)))
if (!areThere) console.log('skipped: row 6: the recorded blocks are not there')

interface Stepped {
  readonly hash: string
  readonly steps: readonly Step[]
}

/** A random search finds what a filter over all steps finds. */
async function searches(calls: Calls, { hash, steps }: Stepped, next: (n: number) => number): Promise<void> {
  const { where, holds } = searchOf(steps, next)
  const [from, backwards, count] = [next(steps.length + 2), next(2) === 1, 1 + next(200)]
  const options = { from, backwards, count, where }
  const { hits } = await calls.call<{ hits: Pick<Step, 'index' | 'pc' | 'op' | 'frame'>[] }>('debug_traceStepSearch', hash, options)
  const inRange = steps.filter((step) => (backwards ? step.index <= from : step.index >= from) && holds(step))
  const expected = (backwards ? inRange.reverse() : inRange).slice(0, count)
  expect(hits, JSON.stringify({ hash, ...options })).toEqual(expected.map(({ index, pc, op, frame }) => ({ index, pc, op, frame })))
}

/** Searches of each block. */
const SEEDS = 200

describe.skipIf(!IS_FULL || !areThere)('row 6: steps in pieces', () => {
  it.each(BLOCKS)('draws a flame at its width from the first drawing on', async (block) => {
    const home = tempHome()
    expect(hearth(['import', '--home', home, '--case', path.join(FIXTURES, 'mainnet-blocks', `${block}.json.gz`)]).status).toBe(0)
    const node = await startNode(['start', '--home', home])
    const calls = new Calls(node.url)
    const { transactions } = await calls.call<{ transactions: string[] }>('eth_getBlockByNumber', `0x${block.toString(16)}`, false)
    const traces = await calls.call<{ result: RawCall }[]>('debug_traceBlockByNumber', `0x${block.toString(16)}`, { tracer: 'callTracer' })
    const next = random(block)
    let searched = 0
    let last: Stepped = { hash: '', steps: [] }
    for (const [i, hash] of transactions.entries()) {
      const whole = await calls.call<{ structLogs: object[] }>('debug_traceTransaction', hash, {})
      const index = await calls.call<{ steps: number; frames: (readonly number[] | null)[] }>('debug_traceStepIndex', hash)
      expect(index.steps).toBe(whole.structLogs.length)
      const deep = depths(traces[i]?.result as RawCall)
      expect(index.frames).toHaveLength(deep.length)
      for (const [n, frame] of index.frames.entries()) if (frame !== null) expect(frame[4]).toBe(deep[n])
      const steps: Step[] = []
      for (let from = 0; from < index.steps; ) {
        const page: { steps: Step[]; next?: number } = await calls.call('debug_traceSteps', hash, { from, to: from + 1000 })
        steps.push(...page.steps)
        from = page.next ?? from + 1000
      }
      const text = steps.map(({ index: _index, frame: _frame, ...step }) => step)
      if (JSON.stringify(text) !== JSON.stringify(whole.structLogs)) expect(text).toEqual(whole.structLogs)
      if (steps.length > 0) last = { hash, steps }
      // The searches are spread over the transactions.
      for (const wanted = Math.ceil((SEEDS * (i + 1)) / transactions.length); steps.length > 0 && searched < wanted; searched++)
        await searches(calls, last, next)
    }
    for (; searched < SEEDS; searched++) await searches(calls, last, next)
    expect(searched).toBe(SEEDS)
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })
})
