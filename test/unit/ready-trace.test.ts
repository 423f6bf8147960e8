// Requests for baked traces that the core looks up by name.
import { describe, expect, it } from 'vitest'
import type { NamedTrace, OpenOptions, ReadyTrace } from '../../ts/core/port.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { namedTrace } from '../../ts/rpc/ready-trace.ts'
import { RequestContext } from '../../ts/server/request-context.ts'
import { drain, fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

const HASH = `0x${'aB'.repeat(32)}`
const BY = { callTracer: 'debug_traceBlockByNumber', prestateTracer: 'debug_traceBlockByHash', flatCallTracer: 'debug_traceTransaction' }

const ask = (method: string, first: unknown, id: unknown = 1, config: unknown = { tracer: 'callTracer' }): object => ({
  jsonrpc: '2.0',
  id,
  method,
  params: [first, config],
})

describe('a named trace', () => {
  it('is a hash or a height, and the name of a tracer', () => {
    for (const [tracer, method] of Object.entries(BY)) {
      const named = method.endsWith('Number') ? '0x1b' : HASH
      const of = {
        debug_traceBlockByNumber: 'blockByNumber',
        debug_traceBlockByHash: 'blockByHash',
        debug_traceTransaction: 'transaction',
      }[method]
      expect(namedTrace(method, [named, { tracer }])).toEqual({ of, named, tracer })
    }
    expect(namedTrace('debug_traceBlockByNumber', ['latest', { tracer: 'callTracer' }])?.named).toBe('latest')
  })

  const BY_NUMBER = 'debug_traceBlockByNumber'
  const CALLS = { tracer: 'callTracer' }
  const UNUSUAL: Readonly<Record<string, [string, unknown]>> = {
    'another method': ['debug_traceCall', ['0x1b', CALLS]],
    'a name of every object': ['toString', ['0x1b', CALLS]],
    'a longer name': ['debug_traceBlockByNumberX', ['0x1b', CALLS]],
    'no parameters': [BY_NUMBER, undefined],
    'parameters that are no list': [BY_NUMBER, { 0: '0x1b', 1: CALLS, length: 2 }],
    'no configuration': [BY_NUMBER, ['0x1b']],
    'a configuration that is null': [BY_NUMBER, ['0x1b', null]],
    'a configuration that is text': [BY_NUMBER, ['0x1b', 'callTracer']],
    'an empty configuration': [BY_NUMBER, ['0x1b', {}]],
    'another member of the configuration': [BY_NUMBER, ['0x1b', { ...CALLS, timeout: '5s' }]],
    'an empty tracerConfig': [BY_NUMBER, ['0x1b', { ...CALLS, tracerConfig: {} }]],
    'a tracer that is no name': [BY_NUMBER, ['0x1b', { tracer: '{result: () => 1}' }]],
    'a tracer that is no text': [BY_NUMBER, ['0x1b', { tracer: ['callTracer'] }]],
    'a third parameter': [BY_NUMBER, ['0x1b', CALLS, 1]],
    'a leading zero': [BY_NUMBER, ['0x01b', CALLS]],
    'no digits': [BY_NUMBER, ['0x', CALLS]],
    'a number that is too long': [BY_NUMBER, [`0x1${'0'.repeat(16)}`, CALLS]],
    'a hash in place of a number': [BY_NUMBER, [HASH, CALLS]],
    'a number in place of a hash': ['debug_traceTransaction', ['0x1b', CALLS]],
    'latest in place of a hash': ['debug_traceBlockByHash', ['latest', CALLS]],
    'another tag': [BY_NUMBER, ['earliest', CALLS]],
    'a number': [BY_NUMBER, [27, CALLS]],
  }
  it.each(Object.entries(UNUSUAL))('is none with %s', (_, [method, params]) => expect(namedTrace(method, params)).toBeUndefined())
})

describe('the dispatcher', () => {
  const RESULT = JSON.stringify([{ result: 'baked' }])

  /**
   * A dispatcher over a core that has some answers ready; its calls, and the number of admitted
   * requests.
   */
  function over(
    ready: (wanted: NamedTrace, gzipOver: number | undefined) => { readonly packed: boolean; readonly historical: boolean } | undefined,
    rules = PLAIN_RULES,
    served = ['debug'],
  ) {
    const wanted: NamedTrace[] = []
    const core = {
      ...fakeCore({}, () => fakeStream(['"live"'])),
      readyTrace: (of: NamedTrace, { head, tail, gzipOver }: OpenOptions): ReadyTrace | undefined => {
        wanted.push(of)
        const found = ready(of, gzipOver)
        if (found === undefined) return undefined
        const body = { kind: 'latin1', text: head + RESULT + tail } as const
        return { body: found.packed ? { kind: 'gzip', length: body.text.length, member: body } : body, historical: found.historical }
      },
    }
    const reported: unknown[] = []
    const samples: (number | string)[][] = []
    const meter = {
      now: () => 5,
      request: (...sample: number[]) => void samples.push(sample),
      count: (...counted: string[]) => void samples.push(counted),
    }
    const limits = { requests: 5, responseBytes: 1 << 20, concurrency: 4 }
    const dispatch = makeDispatch({ core, namespaces: served, clientVersion: 'x', ...rules }, limits, (e) => reported.push(e), meter)
    let admitted = 0
    const send = async (text: string, gzipOver?: number, wait = 0) => {
      const admit = (requests: number): number => {
        admitted += requests
        return wait
      }
      return await dispatch(text, new RequestContext('http', '1.2.3.4', admit, { gzipOver }))
    }
    return { send, wanted, samples, reported, admitted: () => admitted }
  }

  const TEXT = JSON.stringify(ask('debug_traceTransaction', HASH, 'x'))
  const BAKED = `{"jsonrpc":"2.0","id":"x","result":${RESULT}}`
  const LIVE = '{"jsonrpc":"2.0","id":"x","result":"live"}'

  it('gives what is ready, counts it, and says where it came from', async () => {
    const { send, wanted, samples, admitted } = over(() => ({ packed: false, historical: true }))
    const { body, headers } = await send(TEXT)
    expect(body).toEqual({ kind: 'latin1', text: BAKED })
    expect(headers.origin).toBe('baked')
    expect(wanted).toEqual([{ of: 'transaction', named: HASH, tracer: 'callTracer' }])
    expect(samples[0]).toEqual(['historicalTraces', 'debug_traceTransaction', 'http'])
    expect(samples.map((sample) => sample.length)).toEqual([3, 5])
    expect(admitted()).toBe(1)
  })

  it('gives it in gzip where it is', async () => {
    const { send } = over((_, gzipOver) => ({ packed: gzipOver === 77, historical: false }))
    const { body } = await send(TEXT, 77)
    expect(body).toEqual({ kind: 'gzip', length: BAKED.length, member: { kind: 'latin1', text: BAKED } })
    expect((await send(TEXT, 78)).body).toEqual({ kind: 'latin1', text: BAKED })
  })

  it('goes the ordinary way where nothing is ready, once', async () => {
    const { send, admitted, samples } = over(() => undefined)
    expect(await drain(await send(TEXT))).toBe(LIVE)
    expect([admitted(), samples.length]).toEqual([1, 1])
  })

  it('goes the ordinary way where looking fails', async () => {
    const { send, reported } = over(() => {
      throw new Error('planted')
    })
    expect(await drain(await send(TEXT))).toBe(LIVE)
    expect(String(reported)).toContain('planted')
  })

  it('looks for nothing that may not be asked', async () => {
    const ready = () => ({ packed: false, historical: false })
    const cases = [
      over(ready, { ...PLAIN_RULES, denied: ['debug_traceTransaction'] } as never),
      over(ready, { ...PLAIN_RULES, trace: { ...PLAIN_RULES.trace, allowed: ['prestateTracer'] } } as never),
      over(ready, PLAIN_RULES, ['eth']),
    ]
    for (const { send, wanted } of cases) {
      expect(await drain(await send(TEXT))).toContain('"error":')
      expect(wanted).toEqual([])
    }
    const { send, wanted, admitted } = over(ready)
    expect(await drain(await send(TEXT, undefined, 500))).toContain('-32005')
    expect([wanted, admitted()]).toEqual([[], 1])
  })
})
