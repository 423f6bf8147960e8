// Misspelt options of traces: a warning in a header, or a refusal; known options cause neither.
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { resolveSettings } from '../../ts/config/index.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { CALL_OPTIONS, TRACE_OPTIONS, TRACER_OPTIONS, unknownOptions } from '../../ts/rpc/codec/trace-options.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { type Server, startServer } from '../../ts/server/index.ts'
import { fakeCore, fakeStream } from './fake-core.ts'

const opened: Server[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop()
})

const HASH = `0x${'ab'.repeat(32)}`

/**
 * Sends requests to a node with these settings over HTTP: status, warning and body of each answer.
 */
async function asking(more: Record<string, string> = {}) {
  const flags = new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0', ...more }))
  const { settings } = resolveSettings({ flags })
  const core = fakeCore({}, () => fakeStream(['{"calls":1}']))
  const dispatch = makeDispatch(rpcContext(core, settings), batchLimits(settings), () => undefined)
  const server = await startServer(settings, dispatch, { report: () => undefined })
  opened.push(server)
  return async (body: unknown) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(server.httpUrl ?? '', { method: 'POST', headers, body: JSON.stringify(body) })
    return [response.headers.get('x-hearth-warning'), await response.json()] as const
  }
}

const trace = (...params: unknown[]) => ({ jsonrpc: '2.0', id: 1, method: 'debug_traceTransaction', params: [HASH, ...params] })
const answer = { jsonrpc: '2.0', id: 1, result: { calls: 1 } }
const TYPO = 'unknown option "tracerr"; did you mean "tracer"?'

describe('a misspelt option', () => {
  it.each<[object, string]>([
    [{ tracerr: 'callTracer' }, TYPO],
    [
      { tracer: 'callTracer', tracerConfig: { withLogs: true } },
      'unknown option "withLogs" in tracerConfig of callTracer; did you mean "withLog"?',
    ],
    [{ tracer: 'callTracer', withLog: true }, 'unknown option "withLog"; it belongs into tracerConfig'],
    [{ tracer: 'prestateTracer', tracerConfig: { onlyTopCall: true } }, 'unknown option "onlyTopCall" in tracerConfig of prestateTracer'],
    [
      { tracer: 'muxTracer', tracerConfig: { callTracer: { withlogg: true } } },
      'unknown option "withlogg" in tracerConfig of callTracer; did you mean "withLog"?',
    ],
    [{ disableMemory: true }, 'unknown option "disableMemory"; did you mean "enableMemory"?'],
    [{ 'x\r\nset-cookie: é': 1 }, 'unknown option "x\\r\\nset-cookie: ?"'],
    [{ ['y'.repeat(100)]: 1 }, `unknown option "${'y'.repeat(40)}..."`],
    [
      { tracerr: 1, timeoutt: 2, xx: 3, yy: 4, zz: 5 },
      `${TYPO} | unknown option "timeoutt"; did you mean "timeout"? | unknown option "xx" | unknown option "yy"`,
    ],
  ])('is a warning beside the answer: %j', async (config, warning) => {
    expect(await (await asking())(trace(config))).toEqual([warning, answer])
  })

  it('is a warning for traced calls and batches too', async () => {
    const ask = await asking()
    const call = (config: object) => ({ jsonrpc: '2.0', id: 1, method: 'debug_traceCall', params: [{}, 'latest', config] })
    expect((await ask(call({ stateOverride: {} })))[0]).toBe('unknown option "stateOverride"; did you mean "stateOverrides"?')
    expect((await ask(call({ stateOverrides: {}, txIndex: '0x0' })))[0]).toBe(null)
    expect((await ask([trace({ tracerr: '' }), trace({})]))[0]).toBe(TYPO)
  })

  it.each<object[]>([
    [],
    [{}],
    [{ tracer: 'callTracer' }],
    [{ Tracer: 'callTracer', TRACERCONFIG: { WITHLOG: true }, timeout: '5s', reexec: 128 }],
    [{ tracer: 'callTracer', tracerConfig: null }],
    [{ tracer: '{step(){},fault(){},result(){}}', tracerConfig: { anything: 1 } }],
    [{ tracer: 'opcountTracer', tracerConfig: { anything: 1 } }],
    [{ enableMemory: true, disableStack: true, disableStorage: true, enableReturnData: true, limit: 1, overrides: {} }],
    [{ tracer: 'muxTracer', tracerConfig: { callTracer: { withLog: true }, muxTracer: { noopTracer: null } } }],
  ])('is none of these: %j', async (...config) => {
    expect(await (await asking({ 'evm.strict_trace_options': 'true' }))(trace(...config))).toEqual([null, answer])
  })

  it('refuses unknown options where that is asked for', async () => {
    const ask = await asking({ 'evm.strict_trace_options': 'true' })
    const error = { code: -32602, message: TYPO }
    expect(await ask(trace({ tracerr: 'callTracer' }))).toEqual([null, { jsonrpc: '2.0', id: 1, error }])
  })
})

describe('the table of options', () => {
  it('has every option that the core reads', () => {
    const source = (name: string): string => {
      const text = fs.readFileSync(path.join(import.meta.dirname, '../../crates/tracers/src', name), 'utf8')
      return text.split('#[cfg(test)]')[0] ?? ''
    }
    const read = [...`${source('tracer_options.rs')}${source('config.rs')}`.matchAll(/"([a-z0-9]+)" =>/g)].map(([, name]) => name)
    const table = [...TRACE_OPTIONS, ...Object.values(TRACER_OPTIONS).flat()].map((name) => name.toLowerCase())
    expect(read.length).toBeGreaterThan(15)
    expect(read.filter((name) => !table.includes(name ?? ''))).toEqual([])
    expect(unknownOptions(Object.fromEntries(TRACE_OPTIONS.map((name) => [name, null])))).toBeUndefined()
    expect(CALL_OPTIONS).toEqual(['stateOverrides', 'blockOverrides', 'txIndex'])
  })
})
