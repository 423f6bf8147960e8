// Limits of a request hold before any of it is parsed.
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Core } from '../../ts/core/port.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { parseInTurns, parseMessage, READ_AT_ONCE_MAX } from '../../ts/rpc/envelope.ts'
import { CODE, RpcError } from '../../ts/rpc/errors.ts'
import { BatchTooLarge, ByteScanner, scan } from '../../ts/rpc/scan.ts'
import { StartingDispatch } from '../../ts/rpc/starting.ts'
import { drain, fakeCore, PLAIN_RULES } from './fake-core.ts'

afterEach(() => void vi.restoreAllMocks())

const LIMITS = { requests: 10, values: 1000 }
const MIB = 1024 * 1024

/** The longest text that JSON.parse was given while `run` ran, and what `run` threw. */
function parsedBy(run: () => unknown): { longest: number; error: unknown } {
  const parse = vi.spyOn(JSON, 'parse')
  let error: unknown
  try {
    run()
  } catch (e) {
    error = e
  }
  return { longest: Math.max(0, ...parse.mock.calls.map(([text]) => text.length)), error }
}

const call = (id: string, method = 'eth_blockNumber'): string => `{"jsonrpc":"2.0","id":${id},"method":"${method}"}`
const BOMBS: readonly (readonly [name: string, text: string, code: number, message: string])[] = [
  ['numbers', `[${'0,'.repeat(MIB)}0]`, -32600, 'batch too large'],
  ['empty arrays', `[${'[],'.repeat(MIB)}[]]`, -32600, 'batch too large'],
  ['requests', `[${`${call('1')},`.repeat(20_000)}${call('1')}]`, -32600, 'batch too large'],
  ['requests without an end', `[${`${call('1')},`.repeat(20_000)}`, -32600, 'batch too large'],
  ['brackets', '['.repeat(4 * MIB), -32700, 'parse error'],
  ['braces', '{"a":'.repeat(MIB), -32700, 'parse error'],
  ['parameters', `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[${'{},'.repeat(MIB)}0]}`, -32005, 'request too large'],
  ['members', `{${'"a":0,'.repeat(MIB)}"b":0}`, -32005, 'request too large'],
  ['long entries', `[[${'0,'.repeat(MIB)}0]]`, -32005, 'request too large'],
]

describe('a message beyond a limit', () => {
  it.each(BOMBS)('of %s is refused before it is parsed', (_, text, code, message) => {
    const { longest, error } = parsedBy(() => parseMessage(text, LIMITS))
    expect(error).toBeInstanceOf(RpcError)
    expect((error as RpcError).code).toBe(code)
    expect((error as RpcError).message).toContain(message)
    expect(longest).toBeLessThan(300)
  })

  it('names the limit and its setting', () => {
    const text = `[${'0,'.repeat(500)}${'[0],'.repeat(500)}0]`
    expect(() => parseMessage(text, { requests: 2000, values: 1000 })).toThrow(
      'request too large: more than 1000 array elements and object members (evm.max_request_values)',
    )
    expect(parseMessage(text, { requests: 2000, values: 1501 }).calls).toHaveLength(1001)
  })

  it('is counted exactly', () => {
    const entries = (n: number): string => `[${Array.from({ length: n }, (_, i) => call(String(i))).join(' , ')} ]`
    expect(parseMessage(entries(10), LIMITS).calls).toHaveLength(10)
    expect(() => parseMessage(entries(11), LIMITS)).toThrow(BatchTooLarge)
    // 10 requests of 3 members each.
    expect(parseMessage(entries(10), { requests: 10, values: 40 }).calls).toHaveLength(10)
    expect(() => parseMessage(entries(10), { requests: 10, values: 39 })).toThrow('request too large')
  })

  it('does not count what is within strings', () => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["${'[{,\\"\\\\'.repeat(1000)}"]}`
    const [only] = parseMessage(text, LIMITS).calls
    expect(only).toMatchObject({ id: '1', method: 'eth_call', params: ['[{,"\\'.repeat(1000)] })
  })
})

describe('a message that is scanned while it comes', () => {
  /** The error, and how many bytes had come. */
  function refused(text: string, size: number): [error: RpcError | undefined, at: number] {
    const bytes = Buffer.from(text)
    const scanner = new ByteScanner(LIMITS)
    for (let at = size; ; at += size) {
      const error = scanner.look(bytes.subarray(0, at), at >= bytes.length)
      if (error !== undefined || at >= bytes.length) return [error, at]
    }
  }

  it.each(BOMBS)('of %s is refused as the whole is', (_, text, code, message) => {
    const [whole] = refused(text, text.length)
    for (const size of [997, 65_536]) {
      const [error, at] = refused(text, size)
      expect(error).toMatchObject({ code, message: expect.stringContaining(message) })
      expect(error).toEqual(whole)
      expect(at).toBeLessThanOrEqual(65_536)
    }
  })

  it('has each byte read once', () => {
    const text = `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":["${'ab'.repeat(500_000)}"]}`
    const bytes = Buffer.from(text)
    const read = vi.spyOn(Buffer.prototype, 'toString')
    const scanner = new ByteScanner(LIMITS)
    for (let at = 0; at < bytes.length; ) {
      at = Math.min(bytes.length, at + 10_000)
      scanner.look(bytes.subarray(0, at), at === bytes.length)
    }
    const pieces = read.mock.calls.flatMap(([encoding, from], i) =>
      encoding === 'latin1' ? [(read.mock.contexts[i] as Buffer).length - Number(from)] : [],
    )
    expect(pieces).toHaveLength(Math.ceil(bytes.length / 10_000))
    expect(pieces.reduce((a, b) => a + b)).toBe(bytes.length)
  })

  it('keeps escapes and keys that two pieces share', () => {
    const text = '{"jsonrpc":"2.0","\\u0069d": "\\\\\\"x☃" ,"method":"eth_\\"b","params":["\\"]}[{,"]}'
    const bytes = Buffer.from(text)
    for (let first = 1; first < bytes.length; first++) {
      for (const second of [first, Math.min(first + 1, bytes.length - 1), Math.min(first + 5, bytes.length - 1)]) {
        const scanner = new ByteScanner(LIMITS)
        for (const at of [first, second]) expect(scanner.look(bytes.subarray(0, at), false)).toBeUndefined()
        expect(scanner.look(bytes, true)).toBeUndefined()
        expect(scanner.messageOf(text), `${first}`).toEqual({ text, scanned: { ids: ['"\\\\\\"x☃"'] } })
      }
    }
    expect(parseMessage({ text, scanned: { ids: ['7'] } }, LIMITS).calls).toMatchObject([{ id: '7', method: 'eth_"b' }])
  })

  it('is not scanned again when it is dispatched', async () => {
    const limits = { requests: 1, responseBytes: 1000, concurrency: 1 }
    const dispatch = makeDispatch({ core: fakeCore({}), namespaces: ['eth'], clientVersion: 'x', ...PLAIN_RULES }, limits, () => undefined)
    const client = { connection: 'http', onDisconnect: () => undefined } as const
    const [error] = refused(BOMBS[2]?.[1] as string, 65_536)
    expect(await drain(await dispatch(error as RpcError, client))).toContain('"id":1,"error":{"code":-32600,"message":"batch too large"}')
    // The limit of the dispatcher would refuse it.
    const text = '[{"id":1},{"id":2}]'
    const answer = await drain(await dispatch({ text, scanned: { ids: ['1', '2'] } }, client))
    expect(JSON.parse(answer)).toHaveLength(2)
  })
})

describe('a batch that is too large', () => {
  const refused = (text: string): BatchTooLarge => {
    const { error } = parsedBy(() => parseMessage(text, { requests: 2 }))
    expect(error).toBeInstanceOf(BatchTooLarge)
    return error as BatchTooLarge
  }

  it('has the id of its first request that has one', () => {
    expect(refused(`[0,${call('7.0')},${call('8')},0]`)).toMatchObject({ id: '7.0', code: CODE.invalidRequest })
    expect(refused('[0,0,0]').id).toBeUndefined()
  })

  it('is not answered with an id that is no JSON', () => {
    for (const id of ['x', '1 2', '{}', '[1]', '"a"b']) expect(refused(`[{"id":${id}},0,0${' '.repeat(300)}]`).id).toBeUndefined()
  })

  it('has the methods of the requests that were looked at', () => {
    const text = `[${call('1')},5,${call('2', 'eth_x')},${call('3')}]`
    expect(refused(text).methods).toEqual(['eth_blockNumber', undefined, 'eth_x'])
  })

  it('is refused while the node opens', async () => {
    const starting = new StartingDispatch({ requests: 2 })
    const answer = await starting.dispatch(`[${call('7')},0,0]`, { connection: 'http', onDisconnect: () => undefined })
    expect(await drain(answer)).toBe('[{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"batch too large"}}]')
  })

  it('takes the tokens of a full batch', async () => {
    const core: Core = fakeCore({})
    const limits = { requests: 2, responseBytes: 1000, concurrency: 1 }
    const dispatch = makeDispatch({ core, namespaces: ['eth'], clientVersion: 'x', ...PLAIN_RULES }, limits, () => undefined)
    const asked: number[] = []
    const admit = (requests: number): number => {
      asked.push(requests)
      return asked.length === 1 ? 0 : 250
    }
    const ask = async (): Promise<string> =>
      await drain(await dispatch('[{"id":1},0,0,0]', { connection: 'http', onDisconnect: () => undefined, admit }))
    expect(await ask()).toContain('batch too large')
    expect(await ask()).toBe('[{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"too many requests"}}]')
    expect(asked).toEqual([2, 2])
  })
})

describe('entries that are no requests', () => {
  it('share one error without a stack', () => {
    const { calls } = parseMessage(`[${'0,'.repeat(9)}0]`, LIMITS)
    const errors = new Set(calls.map((bad) => ('error' in bad ? bad.error : undefined)))
    expect(errors.size).toBe(1)
    const [error] = errors
    expect(error?.code).toBe(-32600)
    expect(error?.stack).toBe('RpcError: invalid request')
  })
})

/** Numbers that look random and are the same each time (a linear congruential generator). */
function* numbers(seed: number): Generator<number, never> {
  for (let state = seed; ; ) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    yield state / 2 ** 32
  }
}

describe('ids', () => {
  it('of random messages are found as they were written', () => {
    const random = numbers(7)
    const next = (n: number): number => Math.floor(random.next().value * n)
    const pick = <T>(...of: readonly T[]): T => of[next(of.length)] as T
    const space = (): string => pick('', '', ' ', '\n\t ', '\r')
    const value = (depth: number): string => {
      const inner = (): string => value(depth + 1)
      if (depth > 3 || next(2) === 0) return pick('0', '-1.50e+7', 'true', 'null', '""', '"\\"id\\":9,"', '"\\\\"', '"]}[{,"', '"☃"')
      if (next(2) === 0) return `[${space()}${Array.from({ length: next(4) }, inner).join(`${space()},${space()}`)}${space()}]`
      return `{${Array.from({ length: next(4) }, () => `${pick('"id"', '"a"', '"\\\\"', '"method"')}${space()}:${inner()}`).join(',')}${space()}}`
    }
    const request = (): [text: string, id: string | undefined] => {
      if (next(8) === 0) {
        const other = pick('0', '"id"', '[]', '["id",1]', 'null')
        return [other, undefined]
      }
      const members: string[] = []
      let id: string | undefined
      for (let left = next(5); left > 0; left--) {
        const isId = next(2) === 0
        const written = value(0)
        const key = isId ? pick('"id"', '"\\u0069d"', '"\\u0069\\u0064"') : pick('"x"', '"idd"', '"\\"id"', '"method"')
        if (isId) id = written
        members.push(`${space()}${key}${space()}:${space()}${written}${space()}`)
      }
      return [`{${members.join(',')}}`, id]
    }
    for (let round = 0; round < 3000; round++) {
      const requests = Array.from({ length: 1 + next(4) }, request)
      const isBatch = requests.length > 1 || next(2) === 0
      const inside = requests.map(([text]) => text).join(`${space()},${space()}`)
      const text = isBatch ? `${space()}[${space()}${inside}${space()}]${space()}` : space() + inside
      // A lone array is a batch, and is tested as one.
      if (!isBatch && inside.startsWith('[')) continue
      JSON.parse(text)
      expect(scan(text, { requests: 4 }).ids, text).toEqual(requests.map(([, id]) => id))
      const bytes = Buffer.from(text)
      const inPieces = new ByteScanner({ requests: 4 })
      for (let at = 0; at < bytes.length; ) {
        at = Math.min(bytes.length, at + 1 + next(bytes.length))
        expect(inPieces.look(bytes.subarray(0, at), at === bytes.length)).toBeUndefined()
      }
      expect(inPieces.messageOf(text), text).toEqual({ text, scanned: scan(text, { requests: 4 }) })
    }
  })
})

describe('a large text that is read in turns', () => {
  const pad = ' '.repeat(READ_AT_ONCE_MAX)
  const texts = {
    'a request': `${pad}{"id": 7, "method": "eth_call", "params": ["${'0'.repeat(READ_AT_ONCE_MAX)}"]}`,
    'a batch': `[{"id":1,"method":"a"},${pad}{"id":"\\u0061","method":"b"},7]`,
    'an empty batch': `[${pad}]`,
    'no JSON': `${pad}{"id":1`,
    'too many requests': `[${'{"id":1},'.repeat(20)}${pad}0]`,
    'too much nesting': '['.repeat(READ_AT_ONCE_MAX),
    'white space': pad,
  }
  const limits = { requests: 10 }

  it.each(Object.entries(texts))('is the message that it is at once: %s', async (_, text) => {
    const atOnce = (): unknown => {
      try {
        return parseMessage(text, limits)
      } catch (e) {
        return e
      }
    }
    let steps = 0
    const inTurns = await parseInTurns(text, limits, () => steps++).catch((e: unknown) => e)
    expect(inTurns).toEqual(atOnce())
    expect(steps).toBeGreaterThan(0)
  })

  it('lets others have their turn between its steps', async () => {
    const seen: string[] = []
    const immediates = (left: number): void => {
      seen.push('other')
      if (left > 0) setImmediate(() => immediates(left - 1))
    }
    setImmediate(() => immediates(5))
    await parseInTurns(texts['a batch'], limits, () => seen.push('step'))
    expect(seen.filter((who) => who === 'step')).toHaveLength(3)
    expect(seen.filter((who, i) => who === 'step' && seen[i - 1] === 'step')).toEqual([])
  })
})
