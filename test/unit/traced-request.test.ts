// Requests for traces that are read without JSON.parse: each is read as JSON.parse reads it.
import { describe, expect, it } from 'vitest'
import { readTracedRequest } from '../../ts/rpc/traced-request.ts'

const METHOD = 'debug_traceBlockByNumber'
const REQUEST = { jsonrpc: '2.0', id: 7, method: METHOD, params: ['0x1b', { tracer: 'callTracer' }] }
const READ = { id: '7', method: METHOD, params: REQUEST.params }

/** Every order of some values. */
function orders<T>(values: readonly T[]): T[][] {
  if (values.length < 2) return [[...values]]
  return values.flatMap((value, i) => orders(values.toSpliced(i, 1)).map((rest) => [value, ...rest]))
}

describe('a request for a trace by name', () => {
  it('is read in any order, with and without white space', () => {
    for (const members of orders(Object.entries(REQUEST))) {
      const request = Object.fromEntries(members)
      expect(readTracedRequest(JSON.stringify(request))).toEqual(READ)
      expect(readTracedRequest(JSON.stringify(request, null, '\t'))).toEqual(READ)
    }
  })

  it('keeps the id as the client wrote it, and may have none', () => {
    const { id: _, ...notification } = REQUEST
    expect(readTracedRequest(JSON.stringify(notification))).toEqual({ ...READ, id: undefined })
    for (const id of ['0', '123456789012345', '"a b"', '""'])
      expect(readTracedRequest(JSON.stringify(REQUEST).replace('7', id))).toEqual({ ...READ, id })
  })

  const text = JSON.stringify(REQUEST)
  const LEFT: Readonly<Record<string, string>> = {
    'no object': `[${text}]`,
    'text behind it': `${text} 1`,
    'another version': text.replace('2.0', '1.0'),
    'an id with a leading zero': text.replace('7', '07'),
    'an id of sixteen digits': text.replace('7', '1234567890123456'),
    'an id that is null': text.replace('7', 'null'),
    'an id with an escape': text.replace('7', '"\\u0041"'),
    'an id beyond ASCII': text.replace('7', '"ä"'),
    'an id twice': text.replace('"id":7', '"id":7,"id":8'),
    'an id twice and no version': text.replace('"jsonrpc":"2.0"', '"id":8'),
    'another member': text.replace('"id":7', '"id":7,"x":8'),
    'an escape in a key': text.replace('method', 'm\\u0065thod'),
    'a control character in a string': text.replace('callTracer', 'call\nTracer'),
    'another member of the configuration': text.replace('"callTracer"', '"callTracer","timeout":"5s"'),
    'a third parameter': text.replace('}]', '},1]'),
    'one parameter': text.replace('"0x1b",', ''),
    'a comma too many': text.replace('}]}', '}],}'),
    'no closing brace': text.slice(0, -1),
  }
  it.each(Object.entries(LEFT))('is left to JSON.parse with %s', (_, other) => {
    expect(other).not.toBe(text)
    expect(readTracedRequest(other)).toBeUndefined()
  })

  it('is read as JSON.parse reads it, or left, when changed', () => {
    let read = 0
    for (let at = 0; at < text.length; at++) {
      for (let code = 0; code < 0x100; code++) {
        const changed = text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1)
        const found = readTracedRequest(changed)
        if (found === undefined) continue
        read++
        const value = JSON.parse(changed)
        expect({ ...found, id: JSON.parse(found.id ?? 'null') }).toEqual({ id: value.id, method: value.method, params: value.params })
        expect([value.jsonrpc, Object.keys(value).length]).toEqual(['2.0', 4])
      }
    }

    expect(read).toBeGreaterThan(2000)
  })
})
