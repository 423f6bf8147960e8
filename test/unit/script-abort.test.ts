// Work of scripts that is ended at once does not begin.
import { expect, it } from 'vitest'
import { State } from '../../ts/script/reading/state.ts'
import { Tracer } from '../../ts/script/trace/trace.ts'
import { fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

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
