// Tracers that are functions of this process, by value: compared with the same functions that run
// as text in another process.
import fs from 'node:fs'
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resolveSettings } from '../../dist/config/index.js'
import { openNode } from '../../dist/core/native.js'
import type { Core } from '../../dist/core/port.js'
import { HookError, traceWith as tracerOf } from '../../dist/hooks/index.js'
import { nodeConfig } from '../../dist/node/node-config.js'
import { type ScriptHooks, scriptOf } from '../../dist/tracer/script.js'
import { FIXTURES, fixtures } from '../conformance/fixtures.ts'
import { hearth, tempHome } from './harness.ts'
import { CALLED, CALLER, LOOP, NO_SCRIPTS } from './js-node.ts'
import { sizeTaking, until } from './waiting.ts'

/** A block with calls of every kind, failures and logs. */
const BLOCK = '13287210'

/** Gas that no machine uses up while a test runs. */
const ENDLESS = 2 ** 50

/** Transactions of it that are looked at one by one. */
const SAMPLES = 10

type Traced = NonNullable<ReturnType<typeof tracerOf>>

/**
 * Hooks without references to their surroundings, and their state: the same in this process and as
 * text.
 */
const ALIKE: Readonly<Record<string, readonly [ScriptHooks, object]>> = {
  'a histogram of opcodes': [
    {
      step(this: { c: Record<string, number> }, log) {
        const name = log.op.toString()
        this.c[name] = (this.c[name] ?? 0) + 1
      },
      result(this: { c: object }) {
        return this.c
      },
    },
    { c: {} },
  ],
  'every number of each step': [
    {
      step(this: { all: unknown[] }, log) {
        this.all.push([log.getPC(), log.getGas(), log.getCost(), log.getDepth(), log.getRefund(), log.op.isPush(), log.memory.length()])
      },
      result(this: { all: unknown[] }) {
        return this.all
      },
    },
    { all: [] },
  ],
  'stack, memory and contract': [
    {
      step(this: { all: unknown[] }, log) {
        const length = log.stack.length()
        const size = log.memory.length()
        const top = length > 0 ? log.stack.peek(0).toString(16) : ''
        const low = length > 0 ? log.stack.peek(length - 1).toString() : ''
        const end = size > 31 ? Array.from(log.memory.slice(size - 32, size)) : []
        this.all.push([top, low, end, Array.from(log.contract.getAddress()), log.contract.getInput().length])
      },
      fault(this: { all: unknown[] }, log) {
        this.all.push(log.getError())
      },
      result(this: { all: unknown[] }) {
        return this.all
      },
    },
    { all: [] },
  ],
  frames: [
    {
      enter(this: { all: unknown[] }, frame) {
        this.all.push([frame.getType(), Array.from(frame.getTo()), frame.getGas(), frame.getInput().length, `${frame.getValue()}`])
      },
      exit(this: { all: unknown[] }, result) {
        this.all.push([result.getGasUsed(), result.getOutput().length, result.getError()])
      },
      result(this: { all: unknown[] }, ctx) {
        return [this.all, ctx.type, Array.from(ctx.to), ctx.gasUsed, `${ctx.value}`, ctx.block, ctx.error]
      },
    },
    { all: [] },
  ],
  'state as of each step': [
    {
      step(this: { all: unknown[] }, log, db) {
        const at = log.contract.getAddress()
        const name = log.op.toString()
        if (name === 'SLOAD' || name === 'SSTORE') {
          const key = [0, 4, 8, 12, 16, 20, 24, 28].flatMap((i) => {
            const word = log.stack
              .peek(0)
              .toString(16)
              .padStart(64, '0')
              .slice(i * 2, i * 2 + 8)
            return [0, 2, 4, 6].map((j) => Number.parseInt(word.slice(j, j + 2), 16))
          })
          this.all.push(Array.from(db.getState(at, key)))
        } else if (name === 'CALL') this.all.push([`${db.getBalance(at)}`, db.getNonce(at), db.exists(at), db.getCode(at).length])
      },
      result(this: { all: unknown[] }, ctx, db) {
        return [this.all, `${db.getBalance(ctx.from)}`, db.getNonce(ctx.from)]
      },
    },
    { all: [] },
  ],
}

const memoryMiB = (): number => process.memoryUsage().rss / 2 ** 20

describe.skipIf(!fixtures('mainnet-blocks'))('functions as tracers', () => {
  const home = tempHome()
  const { settings } = resolveSettings({
    flags: new Map([
      ['evm.simulation_gas_limit', String(ENDLESS)],
      ['evm.trace_transaction_timeout', '1h'],
      ['evm.trace_timeout', '1h'],
    ]),
  })
  let core: Core
  let traceWith: Traced
  let hashes: readonly string[]
  let blockHash: string

  const json = async (stream: ReturnType<Core['stream']>): Promise<unknown> => {
    const parts: Buffer[] = []
    for (let part = await stream.next(); part !== null; part = await stream.next()) parts.push(Buffer.from(part))
    return JSON.parse(Buffer.concat(parts).toString('utf8'))
  }
  const asText = (hash: string, hooks: ScriptHooks, state: object) =>
    json(core.stream('traceTransaction', { hash, config: { tracer: scriptOf(hooks as never, state), timeout: '60s' } }))

  beforeAll(async () => {
    const { status, stderr } = hearth(['import', '--home', home, '--case', path.join(FIXTURES, `mainnet-blocks/${BLOCK}.json.gz`)])
    if (status !== 0) throw new Error(stderr)
    core = await openNode(nodeConfig(home, 'start', settings))
    traceWith = tracerOf(core) as Traced
    const block = JSON.parse(Buffer.from(await core.request('getBlockByNumber', { block: 'latest', full: false })).toString('utf8')) as {
      hash: string
      transactions: string[]
    }
    blockHash = block.hash
    hashes = block.transactions
  })
  afterAll(async () => {
    await core.close()
    fs.rmSync(home, { recursive: true, force: true })
  })

  const sampled = () => hashes.filter((_, i) => i % Math.ceil(hashes.length / SAMPLES) === 0)
  /** Hooks with a state of their own, as an object of this process. */
  const own = (hooks: ScriptHooks, state: object): ScriptHooks => ({ ...structuredClone(state), ...hooks })

  it.skipIf(NO_SCRIPTS).each(Object.entries(ALIKE))('%s: what the same text says', async (_, [hooks, state]) => {
    for (const hash of sampled()) {
      const result = await traceWith('traceTransaction', { hash }, own(hooks, state))
      // Through JSON, as the other side's: what is undefined is left out there.
      expect(JSON.parse(JSON.stringify(result)), hash).toEqual(await asText(hash, hooks, state))
    }
  })

  it.skipIf(NO_SCRIPTS)('everything read during a transaction exists, hooks run once', async () => {
    const helpers = {
      pc: (log: object) => (log as Record<string, () => number>)[['get', 'PC'].join('')]?.(),
      top: (log: object) => {
        const { stack } = log as { stack: { length(): number; peek(n: number): object } }
        return stack.length() > 0 ? `${stack.peek(0)}` : ''
      },
      end: (log: object) => {
        const { memory } = log as { memory: { length(): number; slice(a: number, b: number): Uint8Array } }
        return memory.length() > 31 ? Array.from(memory.slice(0, 32)) : []
      },
      code: (log: object, db: object) => {
        const at = (log as { contract: { getAddress(): Uint8Array } }).contract.getAddress()
        return (db as { getCode(at: Uint8Array): Uint8Array; getBalance(at: Uint8Array): object }).getCode(at).length
      },
    }
    for (const hash of sampled()) {
      let steps = 0
      const seen: unknown[] = []
      const late: ScriptHooks<number> = {
        step(log, db) {
          steps++
          if (steps === 3) seen.push(helpers.pc(log))
          if (steps === 40 || steps === 41) seen.push(helpers.top(log))
          if (steps === 77) seen.push(helpers.end(log), helpers.code(log, db))
          if (steps % 1000 === 0) seen.push([helpers.pc(log), helpers.top(log), helpers.end(log)])
        },
        result: () => steps,
      }
      const count = await traceWith('traceTransaction', { hash }, late)
      const expected = (await asText(
        hash,
        {
          step(this: { n: number; all: unknown[] }, log, db) {
            const top = () => (log.stack.length() > 0 ? `${log.stack.peek(0)}` : '')
            const end = () => (log.memory.length() > 31 ? Array.from(log.memory.slice(0, 32)) : [])
            this.n++
            if (this.n === 3) this.all.push(log.getPC())
            if (this.n === 40 || this.n === 41) this.all.push(top())
            if (this.n === 77) this.all.push(end(), db.getCode(log.contract.getAddress()).length)
            if (this.n % 1000 === 0) this.all.push([log.getPC(), top(), end()])
          },
          result(this: { n: number; all: unknown[] }) {
            return [this.n, this.all]
          },
        } as ScriptHooks,
        { n: 0, all: [] },
      )) as [number, unknown[]]
      expect([count, seen], hash).toEqual(expected)
    }
  })

  it.skipIf(NO_SCRIPTS)('fields that are missed on entering or in failed frames', async () => {
    const get = (on: object, ...names: string[]) => names.reduce<unknown>((of, name) => (of as Record<string, unknown>)[name], on)
    for (const hash of sampled()) {
      let db: unknown
      let log: unknown
      const seen: unknown[] = []
      const read = (name: string, ...args: unknown[]) => (get(db as object, name) as (...args: unknown[]) => unknown).call(db, ...args)
      const hooks: ScriptHooks<number> = {
        step(l, d) {
          log = l
          db = d
        },
        enter: (frame) => void seen.push(['enter', `${read('getBalance', frame.getTo())}`]),
        exit: (result) => void seen.push(['exit', result.getError() ?? '', (get(log as object, 'getPC') as () => number)()]),
        result: () => seen.length,
      }
      const count = await traceWith('traceTransaction', { hash }, hooks)
      expect(count).toBe(seen.length)
      const expected = await asText(
        hash,
        {
          step(this: { log: unknown; db: unknown }, l, d) {
            this.log = l
            this.db = d
            l.getPC
          },
          enter(this: { all: unknown[]; db: { getBalance(of: unknown): object } }, frame) {
            this.all.push(['enter', `${this.db.getBalance(frame.getTo())}`])
          },
          exit(this: { all: unknown[]; log: { getPC(): number } }, result) {
            this.all.push(['exit', result.getError() ?? '', this.log.getPC()])
          },
          result(this: { all: unknown[] }) {
            return this.all
          },
        } as ScriptHooks,
        { all: [] },
      )
      expect(seen, hash).toEqual(expected)
    }
  })

  it('closures keep state over a block; results are values', async () => {
    const values = new Map<object, number>()
    let steps = 0
    const perTransaction: number[] = []
    const traced = await traceWith(
      'traceBlockByHash',
      { hash: blockHash },
      {
        setup: (config) => void expect(config).toBe('{"deep":[1]}'),
        step: () => {
          steps++
        },
        result: (ctx) => {
          perTransaction.push(steps)
          const value = { index: ctx.txIndex, of: () => steps, bytes: ctx.txHash }
          values.set(value, perTransaction.length)
          return value
        },
      } satisfies ScriptHooks<object>,
      { config: { deep: [1] } },
    )
    expect(traced.map(({ txHash }) => txHash)).toEqual(hashes)
    expect(traced.map(({ result }) => values.get(result))).toEqual(hashes.map((_, i) => i + 1))
    expect(traced.map(({ result }) => result.index)).toEqual(hashes.map((_, i) => i))
    expect(traced.map(({ result }) => `0x${Buffer.from(result.bytes as Uint8Array).toString('hex')}`)).toEqual(hashes)
    expect(perTransaction).toEqual([...perTransaction].sort((a, b) => a - b))
    expect(traced[0]?.result.of()).toBe(steps)
    const byNumber = await traceWith('traceBlockByNumber', { block: `0x${Number(BLOCK).toString(16)}` }, { result: (ctx) => ctx.gasUsed })
    expect(byNumber.map(({ txHash }) => txHash)).toEqual(hashes)
  })

  const loop = (gas: number) => ({
    transaction: { from: CALLER, to: CALLED, gas: `0x${gas.toString(16)}` },
    block: 'latest',
    txIndex: undefined,
    stateOverrides: { [CALLED]: { code: LOOP } },
    blockOverrides: undefined,
  })

  it('an exception of a hook is the cause, and ends the trace', async () => {
    const thrown = new RangeError('not today')
    for (const hook of ['setup', 'step', 'result'] as const) {
      let after = 0
      const hooks = {
        step: () => void after++,
        result: () => 1,
        [hook]: () => {
          after = 0
          throw thrown
        },
      } as ScriptHooks
      const error = (await traceWith('traceCall', loop(1_000_000), hooks).catch((e: unknown) => e)) as HookError
      expect(error).toBeInstanceOf(HookError)
      expect([error.kind, error.hook, error.cause, error.message]).toEqual(['trace', hook, thrown, `the hook ${hook} threw: not today`])
      await new Promise((resolve) => setTimeout(resolve, 50))
      expect(after).toBe(0)
    }
    const bounds = await traceWith('traceCall', loop(100_000), { step: (log) => void log.stack.peek(1000), result: () => 1 }).catch(
      (e: unknown) => e,
    )
    expect(bounds).toMatchObject({
      hook: 'step',
      message: expect.stringContaining('tracer accessed out of bound stack: size 0, index 1000'),
    })
    const nothing = await traceWith('traceTransaction', { hash: `0x${'11'.repeat(32)}` }, { result: () => 1 }).catch((e: unknown) => e)
    expect(nothing).toMatchObject({ name: 'CoreError', kind: 'transaction_not_found' })
  })

  it('refuses what are no hooks, before anything runs', async () => {
    const refuse = (hooks: unknown) => traceWith('traceCall', loop(1_000_000), hooks as ScriptHooks)
    await expect(refuse({})).rejects.toThrow(new TypeError('hooks must have a function result'))
    await expect(refuse(null)).rejects.toThrow(TypeError)
    await expect(refuse({ result: () => 1, step: 5 })).rejects.toThrow(new TypeError('step of the hooks must be a function'))
    await expect(refuse({ result: () => 1, enter: () => 1 })).rejects.toThrow(
      new TypeError('hooks must have both or none of enter and exit'),
    )
    await expect(traceWith('traceCall', loop(1_000_000), { result: () => 1 }, { timeoutMs: 0 })).rejects.toThrow(TypeError)
  })

  it('a signal and the time limit end it; the event loop runs', async () => {
    const control = new AbortController()
    const reason = new Error('enough')
    let steps = 0
    const endless = { step: () => void steps++, result: () => steps }
    const ended = expect(traceWith('traceCall', loop(ENDLESS), endless, { signal: control.signal })).rejects.toBe(reason)
    await until('steps', () => steps > 1000)
    control.abort(reason)
    await ended
    const then = steps
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(steps).toBe(then)
    await expect(traceWith('traceCall', loop(ENDLESS), endless, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
    // Nothing else ends it for an hour.
    await expect(traceWith('traceCall', loop(ENDLESS), endless, { timeoutMs: 200 })).rejects.toMatchObject({
      kind: 'trace',
      message: 'execution timeout',
    })
    const looks = { step: (log: { op: object }) => void log.op.toString(), result: () => 0 }
    const gas = await sizeTaking(300, { from: 1_000_000, most: ENDLESS }, (size) => traceWith('traceCall', loop(size), looks))
    let turns = 0
    const timer = setInterval(() => turns++, 5)
    await traceWith('traceCall', loop(2 * gas), looks)
    clearInterval(timer)
    expect(turns).toBeGreaterThan(2)
  })

  it('two at once, one of which reads state, see their own', async () => {
    const histogram = (hash: string) =>
      traceWith('traceTransaction', { hash }, own(...(ALIKE['a histogram of opcodes'] as [ScriptHooks, object])))
    const state = (hash: string) =>
      traceWith('traceTransaction', { hash }, own(...(ALIKE['state as of each step'] as [ScriptHooks, object])))
    const alone: unknown[] = []
    for (const hash of sampled()) alone.push(await histogram(hash), await state(hash))
    expect(await Promise.all(sampled().flatMap((hash) => [histogram(hash), state(hash)]))).toEqual(alone)
  })

  it('later traces with the same hook see nothing of earlier ones', async () => {
    const step = (log: object): void => {
      const marked = log as { seen?: Set<number>; getPC(): number }
      marked.seen ??= new Set()
      marked.seen.add(marked.getPC() + marked.seen.size)
      sizes.push(marked.seen.size)
    }
    const sizes: number[] = []
    const traces: number[][] = []
    for (let i = 0; i < 3; i++) {
      await traceWith('traceCall', loop(30_000), { step, result: () => undefined } as ScriptHooks)
      traces.push(sizes.splice(0))
    }
    expect(traces[0]?.length).toBeGreaterThan(100)
    expect(traces[1]).toEqual(traces[0])
    expect(traces[2]).toEqual(traces[0])

    let kept: { getPC(): number } | undefined
    const keeps = {
      step: (log: { getPC(): number }) => {
        kept ??= log
      },
      result: () => kept?.getPC(),
    }
    const last = await traceWith('traceCall', loop(30_000), keeps)
    expect(await traceWith('traceCall', loop(30_000), keeps)).toBe(last)
    expect(kept?.getPC()).toBe(0)

    const clears: Partial<ScriptHooks> = { step: () => undefined }
    clears.result = () => {
      clears.step = clears.result = undefined as never
      return 7
    }
    expect(await traceWith('traceCall', loop(30_000), clears as ScriptHooks)).toBe(7)
  })

  it('leaves the globals of the process as they are', async () => {
    const names = () => Reflect.ownKeys(globalThis).map(String)
    const before = names()
    const shapes = () =>
      [Array, Object, Function, String, Uint8Array, DataView]
        .map((of) => Reflect.ownKeys(of.prototype).length)
        .concat(Reflect.ownKeys(JSON).length)
    const had = shapes()
    await traceWith(
      'traceTransaction',
      { hash: hashes[0] as string },
      own(...(ALIKE['stack, memory and contract'] as [ScriptHooks, object])),
    )
    expect(names()).toEqual(before)
    expect(shapes()).toEqual(had)
  })

  it('ten million steps take no more memory than one', async () => {
    let steps = 0
    const hooks: ScriptHooks<number> = {
      step: (log) => {
        if (log.op.toNumber() < 256) steps++
      },
      result: () => steps,
    }
    await traceWith('traceCall', loop(4_000_000), hooks)
    const before = memoryMiB()
    let peak = before
    const timer = setInterval(() => (peak = Math.max(peak, memoryMiB())), 10)
    steps = 0
    // Five steps for 17 gas.
    const count = await traceWith('traceCall', loop(34_100_000), hooks)
    clearInterval(timer)
    expect(count).toBeGreaterThan(10_000_000)
    expect(peak - before).toBeLessThan(100)
  })

  it('a node that closes ends it', async () => {
    const other = tempHome()
    const { status } = hearth(['import', '--home', other, '--case', path.join(FIXTURES, `mainnet-blocks/${BLOCK}.json.gz`)])
    expect(status).toBe(0)
    const short = await openNode(nodeConfig(other, 'start', settings))
    let steps = 0
    const running = (tracerOf(short) as Traced)('traceCall', loop(ENDLESS), { step: () => void steps++, result: () => 1 }).catch(
      (e: unknown) => e,
    )
    await until('its first steps', () => steps > 0)
    await short.close()
    expect(await running).toMatchObject({ name: 'CoreError', kind: 'closed' })
    fs.rmSync(other, { recursive: true, force: true })
  })

  it('in a worker thread', async () => {
    const home2 = tempHome()
    expect(hearth(['import', '--home', home2, '--case', path.join(FIXTURES, `mainnet-blocks/${BLOCK}.json.gz`)]).status).toBe(0)
    const code = `
      const { workerData, parentPort } = require('node:worker_threads')
      const main = async () => {
        const { openNode } = await import(workerData.dist + '/core/native.js')
        const { traceWith } = await import(workerData.dist + '/hooks/index.js')
        const core = await openNode(workerData.config)
        let n = 0
        const steps = await traceWith(core)('traceTransaction', { hash: workerData.hash }, { step() { n++ }, result: () => n })
        await core.close()
        parentPort.postMessage(steps)
      }
      main()`
    const dist = new URL('../../dist', import.meta.url).href
    const hash = sampled()[1] as string
    const worker = new Worker(code, { eval: true, workerData: { dist, hash, config: nodeConfig(home2, 'start', settings) } })
    const said = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
    let here = 0
    await traceWith('traceTransaction', { hash }, { step: () => void here++, result: () => 0 })
    expect(said).toBe(here)
    await worker.terminate()
    fs.rmSync(home2, { recursive: true, force: true })
  })
})
