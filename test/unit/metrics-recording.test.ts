// Records of requests: counts, sums, buckets and quantiles, compared with a plain count of the same
// samples.
import { describe, expect, it } from 'vitest'
import { Requests } from '../../ts/metrics/requests.ts'
import { cellsOf, OPEN_SERIES_MAX } from '../../ts/metrics/series.ts'
import { WINDOW_MS, Window } from '../../ts/metrics/window.ts'
import { ERROR_CLASSES, RpcError } from '../../ts/rpc/errors.ts'
import { combinations, INSTRUMENTS } from '../../ts/rpc/instruments.ts'
import { CONNECTIONS, ENDPOINTS, endpointOf } from '../../ts/rpc/meter.ts'
import { CUT_OFF, codeClass, OUTCOMES, outcomeOf, SUCCESS } from '../../ts/rpc/outcome.ts'
import { METHODS } from '../../ts/rpc/table.ts'

/** Random numbers that are the same every time (mulberry32). */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const BOUNDS: readonly number[] = INSTRUMENTS.requests.buckets

describe('outcomes', () => {
  it('are success, and each class with each range of codes', () => {
    expect(OUTCOMES[SUCCESS]).toEqual({ success: true, errorClass: '', codeClass: '' })
    expect(OUTCOMES.length).toBe(1 + Object.keys(ERROR_CLASSES).length * 4)
    expect(new Set(OUTCOMES.map((o) => JSON.stringify(o))).size).toBe(OUTCOMES.length)
    expect(OUTCOMES[CUT_OFF]).toEqual({ success: false, errorClass: 'unknown', codeClass: '' })
  })

  it.each([
    [-32700, 'spec'],
    [-32600, 'spec'],
    [-32701, 'other'],
    [-32599, 'other'],
    [-32099, 'server'],
    [-32000, 'server'],
    [-32100, 'other'],
    [-31999, 'other'],
    [3, 'other'],
    [0, 'other'],
  ])('code %d is %s', (code, expected) => {
    expect(codeClass(code)).toBe(expected)
  })

  it.each([
    ['panic', -32603, 'spec'],
    ['execution_reverted', 3, 'other'],
    ['evm_not_supported', -32000, 'server'],
    ['chain_legacy_disabled', -32601, 'spec'],
    ['association_missing', -32000, 'server'],
    ['jsonrpc_error', -32005, 'server'],
    ['unknown', -32000, ''],
  ] as const)('%s with code %d has jsonrpc_code "%s"', (errorClass, code, range) => {
    const outcome = OUTCOMES[outcomeOf(new RpcError(code, '', undefined, errorClass))]
    expect(outcome).toEqual({ success: false, errorClass, codeClass: range })
  })
})

describe('endpoints', () => {
  it('are methods, unknown and invalid', () => {
    for (const { name } of METHODS) expect(ENDPOINTS[endpointOf(name)]).toBe(name)
    expect(ENDPOINTS[endpointOf('eth_nothing')]).toBe('unknown')
    expect(ENDPOINTS[endpointOf('__proto__')]).toBe('unknown')
    expect(ENDPOINTS[endpointOf(undefined)]).toBe('invalid')
  })
})

describe('requests', () => {
  it('fall into the bucket whose bound they do not exceed', () => {
    const requests = new Requests(false, 0)
    const milliseconds = [0, 0.5, 0.500001, 1, 30_000, 30_000.1, 1e9]
    for (const ms of milliseconds) requests.record(0, 0, SUCCESS, 100, 100 + ms)
    const [point, ...others] = requests.latencies()
    expect(others).toEqual([])
    const counts = Array(16).fill(0)
    counts[0] = 2
    counts[1] = 2
    counts[14] = 1
    counts[15] = 2
    expect([...(point?.value.buckets.counts ?? [])]).toEqual(counts)
    expect(point?.value.buckets.boundaries).toEqual(BOUNDS)
    expect(point?.value.count).toBe(7)
    expect(point?.value.sum).toBeCloseTo(milliseconds.reduce((a, b) => a + b) / 1000, 3)
  })

  it('that end before they began take no time', () => {
    const requests = new Requests(true, 0)
    requests.record(0, 0, SUCCESS, 5, 3)
    requests.record(0, 0, SUCCESS, Number.NaN, 3)
    expect(requests.latencies()[0]?.value).toMatchObject({ sum: 0, count: 2 })
  })

  it('are counted by endpoint, connection and outcome', () => {
    const next = random(7)
    const requests = new Requests(true, 0)
    const expected = new Map<string, { counts: number[]; sum: number }>()
    const legacy = new Map<string, { count: number; sum: number }>()
    const successes = new Map<string, number>()
    for (let i = 0; i < 20_000; i++) {
      const [endpoint, connection, outcome] = [ENDPOINTS, CONNECTIONS, OUTCOMES].map((of) => Math.floor(next() * of.length)) as [
        number,
        number,
        number,
      ]
      const ms = 10 ** (next() * 8 - 2)
      requests.record(endpoint, connection, outcome, 1000, 1000 + ms)
      const { success, errorClass, codeClass } = OUTCOMES[outcome] as (typeof OUTCOMES)[number]
      const caller = { endpoint: ENDPOINTS[endpoint], connection: CONNECTIONS[connection] }
      const key = JSON.stringify({ ...caller, success: String(success), error_class: errorClass, jsonrpc_code: codeClass })
      const one = expected.get(key) ?? { counts: Array(16).fill(0) as number[], sum: 0 }
      const bucket = BOUNDS.findIndex((bound) => ms / 1000 <= bound)
      const at = bucket < 0 ? BOUNDS.length : bucket
      one.counts[at] = (one.counts[at] as number) + 1
      one.sum += ms / 1000
      expected.set(key, one)
      const old = legacy.get(JSON.stringify(caller)) ?? { count: 0, sum: 0 }
      legacy.set(JSON.stringify(caller), { count: old.count + 1, sum: old.sum + ms })
      const counted = JSON.stringify({ ...caller, success: String(success) })
      successes.set(counted, (successes.get(counted) ?? 0) + 1)
    }
    const points = requests.latencies()
    expect(points.length).toBe(expected.size)
    for (const { labels, value } of points) {
      const want = expected.get(JSON.stringify(labels)) as { counts: number[]; sum: number }
      expect([...value.buckets.counts]).toEqual(want.counts)
      expect(value.sum).toBeCloseTo(want.sum, 6)
    }
    expect(new Map(requests.legacyCounts().map(({ labels, value }) => [JSON.stringify(labels), value]))).toEqual(successes)
    const summaries = requests.legacyLatencies(1000)
    expect(summaries.length).toBe(legacy.size)
    for (const { labels, value } of summaries) {
      const want = legacy.get(JSON.stringify(labels)) as { count: number; sum: number }
      expect(value.count).toBe(want.count)
      expect((value.sum as number) / want.sum).toBeCloseTo(1, 9)
    }
  })

  it('keep one label object per series, refuse unknown series', () => {
    const requests = new Requests(false, 0)
    requests.record(1, 1, SUCCESS, 0, 1)
    const [first] = requests.latencies()
    requests.record(1, 1, SUCCESS, 0, 1)
    expect(requests.latencies()[0]?.labels).toBe(first?.labels)
    expect(() => requests.record(ENDPOINTS.length, 0, SUCCESS, 0, 1)).toThrow(RangeError)
  })
})

describe('quantiles of a window', () => {
  it('are within 2.2 % of those of the sorted samples', () => {
    const next = random(3)
    const window = new Window(0)
    const series = [[] as number[], [] as number[]]
    for (let i = 0; i < 5000; i++) {
      const which = i % 2
      const ms = 10 ** (next() * 6 - 2)
      series[which]?.push(ms)
      window.record(which * 40, ms, 1)
    }
    series.forEach((samples, which) => {
      samples.sort((a, b) => a - b)
      const got = window.quantiles(which * 40, [0.5, 0.9, 0.99], 1)
      got.forEach((value, i) => {
        const exact = samples[Math.ceil(([0.5, 0.9, 0.99][i] as number) * samples.length) - 1] as number
        expect(Math.abs(value / exact - 1)).toBeLessThan(0.022)
      })
    })
  })

  it('of one sample are that sample, and extremes stay in range', () => {
    const window = new Window(0)
    window.record(0, 250, 1)
    for (const value of window.quantiles(0, [0.5, 0.9, 0.99], 1)) expect(Math.abs(value / 250 - 1)).toBeLessThan(0.022)
    window.record(1, 0, 1)
    expect(window.quantiles(1, [0.5], 1)[0]).toBeLessThan(0.002)
    window.record(2, 1e12, 1)
    expect(window.quantiles(2, [0.5], 1)[0]).toBeGreaterThan(250_000)
  })

  it('forget after one to two windows', () => {
    const window = new Window(0)
    window.record(0, 10, 0)
    expect(window.quantiles(0, [0.5], WINDOW_MS - 1)[0]).toBeCloseTo(10, 0)
    window.record(0, 1000, WINDOW_MS + 1)
    expect(window.quantiles(0, [0.5, 0.99], WINDOW_MS + 2).map(Math.round)).toEqual([10, 983])
    expect(window.quantiles(0, [0.5], 2 * WINDOW_MS + 1)[0]).toBeCloseTo(983, 0)
    expect(window.quantiles(0, [0.5], 3 * WINDOW_MS + 1)).toEqual([Number.NaN])
    expect(new Window(0).quantiles(9, [0.5], 0)).toEqual([Number.NaN])
  })

  it('forget both windows after a long pause', () => {
    const window = new Window(0)
    window.record(0, 10, 0)
    expect(window.quantiles(0, [0.5], 10 * WINDOW_MS)).toEqual([Number.NaN])
  })
})

describe('cells', () => {
  it('have every combination from the start', () => {
    const cells = cellsOf(INSTRUMENTS.redirected)
    const zero = cells.points()
    expect(zero.map((p) => p.labels)).toEqual(combinations(INSTRUMENTS.redirected.labels))
    expect(zero.map((p) => `${p.labels.endpoint} ${p.labels.connection} ${p.value}`)).toEqual([
      'eth_sendRawTransaction http 0',
      'eth_sendRawTransaction websocket 0',
      'eth_sendRawTransactionSync http 0',
      'eth_sendRawTransactionSync websocket 0',
      'eth_getTransactionCount http 0',
      'eth_getTransactionCount websocket 0',
    ])
    cells.count(['eth_sendRawTransactionSync', 'http'])
    cells.count(['eth_sendRawTransactionSync', 'http'])
    expect(cells.points().map((p) => p.value)).toEqual([0, 0, 2, 0, 0, 0])
    cells.count(['eth_sign', 'http'])
    cells.count(['eth_getTransactionCount'])
    expect(cells.points().map((p) => p.value)).toEqual([0, 0, 2, 0, 0, 0])
  })

  it('of values that come later begin with their first count', () => {
    const cells = cellsOf(INSTRUMENTS.redirected)
    cells.count(['eth_call', 'http'])
    cells.count(['eth_call', 'http'])
    cells.count(['eth_call', 'smoke'])
    expect(cells.points().slice(6)).toEqual([{ labels: { endpoint: 'eth_call', connection: 'http' }, value: 2 }])
  })

  it('with open labels are bounded', () => {
    const cells = cellsOf(INSTRUMENTS.cosmosQueries)
    expect(cells.points()).toEqual([])
    for (let i = 0; i <= OPEN_SERIES_MAX; i++) cells.count(['rest', `query${i}`, '0'])
    cells.count(['rest', 'query7', '0'])
    expect(cells.points().length).toBe(OPEN_SERIES_MAX)
    expect(cells.points()[7]).toEqual({ labels: { listener: 'rest', query: 'query7', code: '0' }, value: 2 })
  })
})
