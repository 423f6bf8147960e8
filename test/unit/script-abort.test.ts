// Work of scripts that is ended at once does not begin.
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { CoreError } from '../../ts/core/error.ts'
import type { Core, CoreCaller, ResultStream, ScriptedTrace } from '../../ts/core/port.ts'
import { makeCaller } from '../../ts/rpc/caller.ts'
import type { OwnWork } from '../../ts/rpc/own-methods.ts'
import { TimeoutError } from '../../ts/script/errors.ts'
import { NodeProvider } from '../../ts/script/provider.ts'
import { State } from '../../ts/script/reading/state.ts'
import { Tracer } from '../../ts/script/trace/trace.ts'
import { fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

// The functions of a trace need the built program; in these tests none is called.
vi.mock(import('../../ts/tracer/hooked.ts'), async (original) => ({ ...(await original()), runHooks: async () => [] }))

const ROOT = path.resolve(import.meta.dirname, '../..')

const HASH = `0x${'ab'.repeat(32)}` as const

/** A tracer, and how many chunks of its trace were taken. */
function tracer(): { readonly tracer: Tracer; readonly taken: () => number } {
  const stream = fakeStream(['{"structLogs":[', '],"gas":1,"failed":false,"returnValue":"0x"}'])
  const core = fakeCore({}, () => stream)
  return { tracer: new Tracer(core, PLAIN_RULES.trace), taken: () => stream.taken }
}

it('a trace that is aborted before its stream is there', async () => {
  const { tracer: traces, taken } = tracer()
  const gone = new AbortController()
  const traced = traces.result(HASH, 'callTracer', { signal: gone.signal })
  gone.abort(new Error('not wanted'))
  await expect(traced).rejects.toThrow('not wanted')
  await new Promise((resolve) => setImmediate(resolve))
  expect(taken()).toBe(0)
})

it('steps that are aborted before their stream is there', async () => {
  const { tracer: traces, taken } = tracer()
  const gone = new AbortController()
  const first = traces.steps(HASH, { signal: gone.signal })[Symbol.asyncIterator]().next()
  gone.abort(new Error('not wanted'))
  await expect(first).rejects.toThrow('not wanted')
  expect(taken()).toBe(0)
})

it('code of an account where the signal is aborted already', async () => {
  const core = fakeCore({})
  const state = new State(core, 1n, { signal: AbortSignal.abort(new Error('not wanted')) })
  await expect(state.code(`0x${'11'.repeat(20)}`)).rejects.toThrow('not wanted')
  // A look-up of the block would fail here, which ends a process.
  expect(core.asked).toEqual([])
})

describe('a trace at its time limit rejects with TimeoutError', () => {
  // The texts of the core: crates/recorder/src/error.rs.
  const TEXTS = ['execution timeout', 'trace call timeout']
  const source = fs.readFileSync(path.join(ROOT, 'crates/recorder/src/error.rs'), 'utf8')
  const over = (message: string) => ({ name: 'TimeoutError', code: 'timeout', message })
  const hooks = { result: () => 1 }

  /** A tracer whose functions are never called: the trace ends with this, or with these chunks. */
  function ending(chunks: readonly (string | Error)[]): Tracer {
    const stream = (): ResultStream => fakeStream(chunks)
    const scripted = () => ({ channel: {} as ScriptedTrace['channel'], stream: stream() })
    return new Tracer({ ...fakeCore({}, stream), scripted }, PLAIN_RULES.trace)
  }

  it.each(TEXTS)('%s', async (message) => {
    expect(source).toContain(`#[error("${message}")]`)
    const failed = ending([new CoreError('trace', message)])
    const steps = failed.steps(HASH, { timeout: 60_000 })
    const taken = steps[Symbol.asyncIterator]().next()
    await expect(taken).rejects.toBeInstanceOf(TimeoutError)
    await expect(taken).rejects.toMatchObject(over(message))
    await expect(steps.summary).rejects.toMatchObject(over(message))
    await expect(failed.result(HASH, 'callTracer', {})).rejects.toMatchObject(over(message))
    await expect(failed.withHooks(HASH, hooks, { timeout: 60_000 })).rejects.toMatchObject(over(message))
    const ofBlock = ending([JSON.stringify([{ txHash: HASH, error: message }])])
    await expect(ofBlock.withHooks({ block: 'latest' }, hooks, { timeout: 60_000 })).rejects.toMatchObject(over(message))
  })

  it('any other failure of a trace stays a TraceError', async () => {
    const failed = ending([new CoreError('trace', 'tracing failed: execution timeout of a precompile')])
    await expect(failed.result(HASH, 'callTracer', {})).rejects.toMatchObject({ name: 'TraceError', code: 'trace' })
  })
})

describe('a request of the provider', () => {
  const fail = (e: unknown): never => {
    throw e
  }

  /** A provider whose calls never end by themselves, and the clients that the core has seen. */
  function silent(): { readonly provider: NodeProvider; readonly clients: string[]; readonly ended: string[] } {
    const [clients, ended]: [string[], string[]] = [[], []]
    const plain = fakeCore({ call: () => new Promise<string>(() => undefined), getBalance: '"0x7"' })
    const withCaller = (caller: CoreCaller): Core => {
      clients.push(caller.address)
      const request: Core['request'] = (op, args) => {
        caller.onDisconnect(() => ended.push(op))
        return plain.request(op, args)
      }
      return { ...plain, request }
    }
    const context = { ...PLAIN_RULES, core: { ...plain, withCaller }, namespaces: ['eth'], clientVersion: 'test' }
    return { provider: new NodeProvider(makeCaller(context, fail), {} as OwnWork, fail), clients, ended }
  }

  const CALL = { method: 'eth_call', params: [{ to: `0x${'11'.repeat(20)}` }, 'latest'] } as const

  it('that is over its time ends in the core', async () => {
    const { provider, clients, ended } = silent()
    await expect(provider.request(CALL, { timeout: 5 })).rejects.toMatchObject({ name: 'TimeoutError', code: 'timeout' })
    // No share holds for work of this process, which has no address.
    expect(clients).toEqual([''])
    expect(ended).toEqual(['call'])
  })

  it('that is aborted ends in the core', async () => {
    const { provider, ended } = silent()
    const gone = new AbortController()
    const called = provider.request(CALL, { signal: gone.signal })
    gone.abort(new Error('not wanted'))
    await expect(called).rejects.toThrow('not wanted')
    expect(ended).toEqual(['call'])
  })

  it('that is done in time is not ended', async () => {
    const { provider, ended } = silent()
    const balance = { method: 'eth_getBalance', params: [`0x${'11'.repeat(20)}`, 'latest'] }
    expect(await provider.request(balance, { timeout: 10_000 })).toBe('0x7')
    expect(ended).toEqual([])
  })
})
