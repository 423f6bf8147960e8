// Steps in pieces on a development chain and on a recorded block: pages joined are the struct logs,
// the index has callTracer's frames, a search is a filter over all steps, gas adds up; what-if
// calls step like transactions, and bad input is answered in words.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIXTURES } from '../conformance/fixtures.ts'
import { ALICE, Calls } from './dev-calls.ts'
import { hearth, type RunningNode, startNode, tempHome } from './harness.ts'

interface Step {
  readonly index: number
  readonly frame: number
  readonly pc: number
  readonly op: string
  readonly gas: number
  readonly gasCost: number
  readonly depth: number
}

interface Index {
  readonly steps: number
  readonly every: number
  readonly gasUsed: number
  readonly failed: boolean
  readonly marks: readonly (readonly [number, number, number])[]
  readonly frames: readonly (readonly [number, number, number, number | null, number] | null)[]
}

interface RawCall {
  readonly gasUsed: string
  readonly calls?: readonly RawCall[]
}

/** Creation code that leaves this code: CODECOPY of what is behind its 12 bytes, RETURN. */
const deploying = (code: string): string => `0x61${(code.length / 2).toString(16).padStart(4, '0')}80600c6000396000f3${code}`

/** Calls itself with one less until its call data is 0; stores its call data in slot 1. */
const NESTED = '6000358015601d576001900360005260006000602060006000305af1505b6000356001556001545000'

/** A loop: JUMPDEST, counter - 1, JUMPI; runs as often as its call data says. */
const LOOP = '6000355b600190038060035700'

async function pages(dev: Calls, of: unknown, total: number, more: object = {}): Promise<Step[]> {
  const all: Step[] = []
  for (let from = 0; from < total; from += 1_000) {
    const { steps, next } = await dev.call<{ steps: Step[]; next?: number }>('debug_traceSteps', of, { from, to: from + 1_000, ...more })
    expect(next).toBeUndefined()
    all.push(...steps)
  }
  return all
}

const bare = ({ index: _index, frame: _frame, ...step }: Step): object => step

function flat(call: RawCall): RawCall[] {
  return [call, ...(call.calls ?? []).flatMap(flat)]
}

/** What holds for the steps of any transaction. */
async function holds(dev: Calls, hash: string): Promise<Index> {
  const whole = await dev.call<{ structLogs: object[]; gas: number; failed: boolean }>('debug_traceTransaction', hash, {})
  const calls = flat(await dev.trace<RawCall>(hash, 'callTracer'))
  const index = await dev.call<Index>('debug_traceStepIndex', hash)
  expect([index.steps, index.gasUsed, index.failed]).toEqual([whole.structLogs.length, whole.gas, whole.failed])
  expect(index.frames.length).toBe(calls.length)
  expect(await dev.call('debug_traceStepIndex', hash)).toEqual(index)
  const steps = await pages(dev, hash, index.steps)
  expect(steps.map(bare)).toEqual(whole.structLogs)
  expect(steps.map((step) => step.index)).toEqual(steps.map((_, i) => i))
  for (const [number, frame] of index.frames.entries()) {
    const own = steps.filter((step) => step.frame === number)
    expect(frame?.slice(0, 3)).toEqual(own.length === 0 ? undefined : [own[0]?.index, own.at(-1)?.index, own.length])
  }
  expect(index.marks).toEqual(steps.filter((_, i) => i % index.every === 0).map(({ frame, pc, gas }) => [frame, pc, gas]))
  const profile = await dev.call<{ rows: [number, number, number][]; executionGas: number; stepsGas: number }>(
    'debug_traceGasProfile',
    hash,
    { by: 'frame' },
  )
  expect(profile.rows.slice(1).map(([, , used]) => used)).toEqual(calls.slice(1).map(({ gasUsed }) => Number(gasUsed)))
  expect(profile.rows.reduce((sum, [, own]) => sum + own, 0)).toBe(profile.executionGas)
  return index
}

describe('steps on a development chain', () => {
  let node: RunningNode
  let dev: Calls
  let loop = ''
  const home = tempHome()
  const deploy = async (code: string): Promise<string> => {
    const hash = await dev.send(ALICE, undefined, { gas: '0xf4240', data: deploying(code) })
    return (await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', hash)).contractAddress
  }
  const counter = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`
  beforeAll(async () => {
    node = await startNode(['dev', '--home', home])
    dev = new Calls(node.url)
    loop = await deploy(LOOP)
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  it('tile a transaction with frames', async () => {
    const nested = await deploy(NESTED)
    const hash = await dev.send(ALICE, nested, { gas: '0xf4240', data: counter(3) })
    const index = await holds(dev, hash)
    expect(index.frames.length).toBe(4)
    const stores = await dev.call('debug_traceStepSearch', hash, { where: { op: 'SSTORE', slot: '0x1' } })
    expect(stores).toMatchObject({ hits: [{ frame: 3 }, { frame: 2 }, { frame: 1 }, { frame: 0 }] })
    const last = await dev.call('debug_traceStepSearch', hash, { where: { op: 'SSTORE' }, backwards: true, count: 1 })
    expect(last).toMatchObject({ hits: [{ frame: 0 }], next: expect.any(Number) })
  })

  it('give any range of a million steps at once, of calls too', async () => {
    const rounds = 142_857
    const hash = await dev.send(ALICE, loop, { gas: '0xe00000', data: counter(rounds) })
    const index = await dev.call<Index>('debug_traceStepIndex', hash)
    expect(index).toMatchObject({ steps: 2 + 7 * rounds + 1, failed: false, every: 64 })
    const from = 999_990
    const { steps } = await dev.call<{ steps: Step[] }>('debug_traceSteps', hash, { from, to: from + 1_000 })
    expect(steps.length).toBe(index.steps - from)
    expect(steps.at(-1)).toMatchObject({ index: index.steps - 1, op: 'STOP' })
    const of = { transaction: { from: ALICE, to: loop, gas: '0xe00000', data: counter(rounds) }, block: 'latest' }
    expect(await dev.call('debug_traceSteps', of, { from, to: from + 1_000 })).toEqual({ steps })
    expect(await dev.call<Index>('debug_traceStepIndex', of)).toMatchObject({ steps: index.steps, frames: index.frames })
    const jumps = await dev.call('debug_traceStepSearch', of, { where: { op: 'JUMPI' }, from: 500_000, count: 2 })
    expect(jumps).toEqual({
      hits: [500_004, 500_011].map((at) => ({ index: at, pc: 11, op: 'JUMPI', frame: 0 })),
      next: 500_012,
    })
    const by = await dev.call<{ rows: [string, number, number][] }>('debug_traceGasProfile', { block: 'latest' }, { by: 'opcode' })
    expect(by.rows.find(([op]) => op === 'JUMPI')).toEqual(['JUMPI', rounds, 10 * rounds])
  })

  it('of a call see what it pretends', async () => {
    const of = {
      transaction: { from: ALICE, to: loop, gas: '0x30d40' },
      block: 'latest',
      stateOverrides: { [loop]: { code: '0x60ff60005500' } },
    }
    const { steps } = await dev.call<{ steps: Step[] }>('debug_traceSteps', of, { from: 0, to: 10 })
    expect(steps.map(({ op }) => op)).toEqual(['PUSH1', 'PUSH1', 'SSTORE', 'STOP'])
  })

  it('of a fork are its own blocks’, and the origin’s below', async () => {
    const before = await dev.send(ALICE, loop, { gas: '0x30d40', data: counter(3) })
    const fork = await startNode(['dev', '--fork-url', node.url])
    try {
      const forked = new Calls(fork.url)
      const after = await forked.send(ALICE, loop, { gas: '0x30d40', data: counter(3) })
      const range = { from: 2, to: 24, fields: [] }
      const [own, below] = [await forked.call('debug_traceSteps', after, range), await forked.call('debug_traceSteps', before, range)]
      expect(own).toEqual(below)
      expect(below).toEqual(await dev.call('debug_traceSteps', before, range))
      expect((await holds(forked, after)).steps).toBe(24)
    } finally {
      expect(await fork.stop()).toBe(0)
    }
  })

  it('answer bad input in words', async () => {
    const unknown = `0x${'12'.repeat(32)}`
    const refused = (method: string, ...params: unknown[]) => dev.refused(method, ...params)
    expect(await refused('debug_traceSteps', unknown, { from: 0, to: 1 })).toEqual({ code: -32000, message: 'transaction not found' })
    expect(await refused('debug_traceSteps', unknown, { from: 0, to: 1_001 })).toEqual({
      code: -32602,
      message: 'from 0 to 1001 are more than 1000 steps: request pages',
    })
    expect(await refused('debug_traceSteps', unknown, { from: 0, to: 5, tip: 1 })).toMatchObject({ code: -32602 })
    expect(await refused('debug_traceStepSearch', unknown, { where: { op: 'SSTOR' } })).toEqual({
      code: -32602,
      message: 'where.op: unknown instruction "SSTOR"',
    })
    expect(await refused('debug_traceGasProfile', { block: 'latest' }, { by: 'frame' })).toMatchObject({ code: -32602 })
    const late = { transaction: { from: ALICE, to: loop, gas: '0xe00000', data: counter(1_000_000) }, block: 'latest' }
    expect(await refused('debug_traceStepIndex', late, { timeout: '1ms' })).toEqual({ code: -32000, message: 'execution timeout' })
  })
})

it('steps need the permission of the default tracer', async () => {
  const home = tempHome()
  const node = await startNode(['dev', '--home', home, '--evm.trace_allowed_tracers=callTracer'])
  try {
    const error = await new Calls(node.url).refused('debug_traceStepIndex', `0x${'12'.repeat(32)}`)
    expect(error.message).toContain('callTracer')
  } finally {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  }
})

const CASE = path.join(FIXTURES, 'mainnet-blocks', '12459406.json.gz')
const isThere = fs.existsSync(CASE)
it.skipIf(!isThere)(`${isThere ? '' : 'skipped: the recorded block is not there: '}steps of a recorded block`, async () => {
  const home = tempHome()
  expect(hearth(['import', '--home', home, '--case', CASE]).status).toBe(0)
  const node = await startNode(['start', '--home', home])
  try {
    const dev = new Calls(node.url)
    const { transactions } = await dev.block('0xbe1d8e')
    // The fifth, which fails in its own frame; the one whose failure goes through two proxies; one
    // with 78 frames and 29,824 steps.
    expect((await holds(dev, transactions[5] as string)).failed).toBe(true)
    expect((await holds(dev, transactions[191] as string)).frames.length).toBe(4)
    const large = await holds(dev, transactions[112] as string)
    expect([large.steps, large.frames.length]).toEqual([29_824, 78])
    const block = await dev.call<{ steps: number }>('debug_traceGasProfile', { block: '0xbe1d8e' }, { by: 'opcode' })
    expect(block.steps).toBeGreaterThan(large.steps)
  } finally {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  }
})
