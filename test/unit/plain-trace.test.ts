// Requests for baked traces that are told by their text: what is taken is what the ordinary way reads in it, and nothing unusual is taken.
import { describe, expect, it } from 'vitest'
import type { NamedTrace, ReadyTrace } from '../../ts/core/port.ts'
import { makeDispatch, Packed } from '../../ts/rpc/dispatch.ts'
import { parseMessage } from '../../ts/rpc/envelope.ts'
import { plainTrace } from '../../ts/rpc/plain-trace.ts'
import { WaitingClient } from '../../ts/server/waiting.ts'
import { fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'

const HASH = `0x${'aB'.repeat(32)}`
const BY = { callTracer: 'debug_traceBlockByNumber', prestateTracer: 'debug_traceBlockByHash', flatCallTracer: 'debug_traceTransaction' }

const ask = (method: string, first: unknown, id: unknown = 1, config: unknown = { tracer: 'callTracer' }): object => ({
  jsonrpc: '2.0',
  id,
  method,
  params: [first, config],
})

/** The members of a request in every order. */
function orders<T>(list: readonly T[]): T[][] {
  return list.length === 0
    ? [[]]
    : list.flatMap((one, i) => orders([...list.slice(0, i), ...list.slice(i + 1)]).map((rest) => [one, ...rest]))
}

describe('a plain request for a trace', () => {
  it('is read in every order of its members, with any space between them', () => {
    for (const [tracer, method] of Object.entries(BY)) {
      const first = method.endsWith('Number') ? '0x1b' : HASH
      const members = Object.entries(ask(method, first, 7, { tracer }))
      for (const order of orders(members)) {
        for (const text of [JSON.stringify(Object.fromEntries(order)), JSON.stringify(Object.fromEntries(order), null, '\t\r\n ').trim()]) {
          const of = {
            debug_traceBlockByNumber: 'blockByNumber',
            debug_traceBlockByHash: 'blockByHash',
            debug_traceTransaction: 'transaction',
          }[method]
          expect(plainTrace(text)).toEqual({ id: '7', method, of, named: first, tracer })
          const [call] = parseMessage(text, { requests: 1 }).calls
          expect(call).toMatchObject({ id: '7', method, params: [first, { tracer }] })
        }
      }
    }
  })

  it.each([0, 999_999_999_999_999, '', 'a b!#[]~'])('has the id %j as it was written', (id) => {
    expect(plainTrace(JSON.stringify(ask('debug_traceBlockByNumber', 'latest', id)))?.id).toBe(JSON.stringify(id))
  })

  const good = JSON.stringify(ask('debug_traceBlockByNumber', '0x1b'))
  const UNUSUAL: Readonly<Record<string, string>> = {
    'another method': JSON.stringify(ask('debug_traceCall', '0x1')),
    'a longer name': good.replace('Number"', 'NumberX"'),
    'no configuration': good.replace(',{"tracer":"callTracer"}', ''),
    'another member of the configuration': good.replace('"callTracer"', '"callTracer","timeout":"5s"'),
    'an empty tracerConfig': good.replace('"callTracer"', '"callTracer","tracerConfig":{}'),
    'a tracer in other words': good.replace('callTracer', 'call\\u0054racer'),
    'a third parameter': good.replace('}]', '},1]'),
    'a leading zero': good.replace('0x1b', '0x01b'),
    'no digits': good.replace('0x1b', '0x'),
    'a number that is too long': good.replace('0x1b', `0x1${'0'.repeat(16)}`),
    'a hash in place of a number': good.replace('0x1b', HASH),
    'a number in place of a hash': good.replace('BlockByNumber', 'Transaction'),
    'latest in place of a hash': good.replace('BlockByNumber', 'BlockByHash').replace('0x1b', 'latest'),
    'another tag': good.replace('0x1b', 'earliest'),
    'a number': good.replace('"0x1b"', '27'),
    'another version': good.replace('2.0', '1.0'),
    'no id': good.replace('"id":1,', ''),
    'two ids': good.replace('"id":1,', '"id":1,"id":2,'),
    'two ids and no version': good.replace('"jsonrpc":"2.0"', '"id":2'),
    'an id that is null': good.replace('"id":1', '"id":null'),
    'an id with a point': good.replace('"id":1', '"id":1.0'),
    'a negative id': good.replace('"id":1', '"id":-1'),
    'an id of many digits': good.replace('"id":1', `"id":${'1'.repeat(16)}`),
    'an id in other letters': good.replace('"id":1', '"id":"é"'),
    'an id with an escape': good.replace('"id":1', '"id":"\\n"'),
    'another member': good.replace('"id":1', '"id":1,"x":1'),
    'space that JSON has not': good.replace('"id":1', '\u00a0"id":1'),
    'something behind it': `${good} x`,
    'a batch': `[${good}]`,
    'a comma too many': good.replace(/}$/, ',}'),
    'no end': good.slice(0, -1),
    'no beginning': good.slice(1),
    nothing: '',
  }
  it.each(Object.entries(UNUSUAL))('is none with %s', (_, text) => expect(plainTrace(text)).toBeUndefined())
})

describe('the dispatcher', () => {
  const RESULT = JSON.stringify([{ result: 'baked' }])

  /** A dispatcher over a core that has some answers ready; what it was asked, and how many requests were let in. */
  function over(
    ready: (wanted: NamedTrace, gzipOver: number | undefined) => Omit<ReadyTrace, 'body'> | undefined,
    rules = PLAIN_RULES,
    served = ['debug'],
  ) {
    const wanted: NamedTrace[] = []
    const core = {
      ...fakeCore({}, () => fakeStream(['"live"'])),
      readyTrace: (of: NamedTrace, head: string, tail: string, gzipOver: number | undefined) => {
        wanted.push(of)
        const found = ready(of, gzipOver)
        return found && { ...found, body: head + RESULT + tail }
      },
    }
    const reported: unknown[] = []
    const samples: number[][] = []
    const meter = {
      now: () => 5,
      request: (...sample: number[]) => void samples.push(sample),
      redirected: () => undefined,
      redirectFailed: () => undefined,
      historicalTrace: (...who: number[]) => void samples.push(who),
    }
    const limits = { requests: 5, responseBytes: 1 << 20, concurrency: 4 }
    const dispatch = makeDispatch({ core, namespaces: served, clientVersion: 'x', ...rules }, limits, (e) => reported.push(e), meter)
    let admitted = 0
    const send = async (text: string, gzipOver?: number, wait = 0) => {
      const admit = (requests: number): number => {
        admitted += requests
        return wait
      }
      const client = new WaitingClient('http', '1.2.3.4', admit, gzipOver)
      return { answer: await dispatch(text, client), client }
    }
    return { send, wanted, samples, reported, admitted: () => admitted }
  }

  const TEXT = JSON.stringify(ask('debug_traceTransaction', HASH, 'x'))
  const BAKED = `{"jsonrpc":"2.0","id":"x","result":${RESULT}}`
  const LIVE = '{"jsonrpc":"2.0","id":"x","result":"live"}'
  const text = (answer: unknown): string => (typeof answer === 'string' ? answer : Buffer.from(answer as Uint8Array).toString())

  it('gives what is ready, counts it, and says where it came from', async () => {
    const { send, wanted, samples, admitted } = over(() => ({ packed: false, historical: true }))
    const { answer, client } = await send(TEXT)
    expect(answer).toBe(BAKED)
    expect(client.origin).toBe('baked')
    expect(wanted).toEqual([{ id: '"x"', method: 'debug_traceTransaction', of: 'transaction', named: HASH, tracer: 'callTracer' }])
    expect(samples.map((sample) => sample.length)).toEqual([2, 5])
    expect(admitted()).toBe(1)
  })

  it('gives it in gzip where it is', async () => {
    const { send } = over((_, gzipOver) => ({ packed: gzipOver === 77, historical: false }))
    const { answer } = await send(TEXT, 77)
    expect(answer).toEqual(new Packed(BAKED.length, BAKED))
    expect((await send(TEXT, 78)).answer).toBe(BAKED)
  })

  it('goes the ordinary way where nothing is ready, once', async () => {
    const { send, admitted, samples } = over(() => undefined)
    const { answer } = await send(TEXT)
    expect(text(answer)).toBe(LIVE)
    expect([admitted(), samples.length]).toEqual([1, 1])
  })

  it('goes the ordinary way where looking fails', async () => {
    const { send, reported } = over(() => {
      throw new Error('planted')
    })
    expect(text((await send(TEXT)).answer)).toBe(LIVE)
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
      expect(text((await send(TEXT)).answer)).toContain('"error":')
      expect(wanted).toEqual([])
    }
    const { send, wanted, admitted } = over(ready)
    expect(text((await send(TEXT, undefined, 500)).answer)).toContain('-32005')
    expect([wanted, admitted()]).toEqual([[], 1])
  })
})
