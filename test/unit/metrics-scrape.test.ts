// The scrape page of a node: first all series of the specification, at zero; afterwards the
// recorded values.
import { describe, expect, it } from 'vitest'
import { createMetrics, type Metrics } from '../../ts/metrics/index.ts'
import { COUNTED, INSTRUMENTS, type Instrument, WATCHED } from '../../ts/rpc/instruments.ts'
import { endpointOf } from '../../ts/rpc/meter.ts'
import { CUT_OFF, OUTCOMES, SUCCESS } from '../../ts/rpc/outcome.ts'
import { METHODS } from '../../ts/rpc/table.ts'
import { createMetricsApp } from '../../ts/server/metrics-app.ts'
import { type FakeNative, fakeNative } from './fake-core.ts'
import { moved, parseScrape, type Scrape, samplesOf } from './scrape.ts'

const OPENMETRICS = 'application/openmetrics-text; version=1.0.0'

const PROGRAM = { version: '1.2.3', otlp: false, report: () => undefined }

const make = (native: FakeNative = fakeNative(), legacy = true): Metrics =>
  createMetrics({ catalog: native.catalog, snapshot: () => native.snapshot() }, { legacy, mode: 'start', ...PROGRAM })
const text = async (metrics: Metrics, accept?: string): Promise<string> => new TextDecoder().decode((await metrics.scrape(accept)).body)
const page = async (metrics: Metrics): Promise<Scrape> => parseScrape(await text(metrics), 'prometheus')

const CONNECTIONS = ['http', 'websocket']
const TRACES = METHODS.map((m) => m.name).filter((name) => name.startsWith('debug_trace') || name === 'debug_subscribe')

/** The RPC instruments of the specification: type, and the series of the first scrape. */
const SPECIFIED: Readonly<Record<string, readonly [type: string, series: readonly string[]]>> = {
  evmrpc_request_latency_seconds: ['histogram', []],
  evmrpc_websocket_connects_total: ['counter', ['']],
  evmrpc_redirected_requests_total: [
    'counter',
    ['eth_sendRawTransaction', 'eth_sendRawTransactionSync', 'eth_getTransactionCount'].flatMap((e) =>
      CONNECTIONS.map((c) => `{endpoint="${e}",connection="${c}"}`),
    ),
  ],
  evmrpc_redirect_failures_total: [
    'counter',
    ['busy', 'in_doubt', 'timeout', 'unreachable', 'unusable'].map((reason) => `{reason="${reason}"}`),
  ],
  evmrpc_historical_debug_trace_attempts_total: [
    'counter',
    TRACES.flatMap((e) => CONNECTIONS.map((c) => `{endpoint="${e}",connection="${c}"}`)),
  ],
  chain_rpc_request_latency_ms: ['summary', []],
  chain_rpc_request_counter: ['counter', []],
  chain_websocket_connect: ['counter', ['']],
}

describe('the first scrape', () => {
  it('has every RPC instrument at zero, finite labels filled in', async () => {
    const scrape = await page(make())
    expect(TRACES.length).toBe(14)
    for (const [name, [type, series]] of Object.entries(SPECIFIED)) {
      expect(scrape.get(name)?.type, name).toBe(type)
      expect(Object.fromEntries(scrape.get(name)?.samples ?? [])).toEqual(Object.fromEntries(series.map((labels) => [name + labels, 0])))
    }
  })

  it('has exactly the instruments of both tables, in both formats', async () => {
    const metrics = make()
    const names = Object.values(INSTRUMENTS).map((i) => i.name)
    expect([...(await page(metrics)).keys()]).toEqual([...names, 'core_latency', 'core_rows_total', 'core_height'])
    const open = await text(metrics, OPENMETRICS)
    expect([...parseScrape(open, 'openmetrics').keys()]).toEqual([
      ...names.map((name) => name.replace(/_total$/, '')),
      'core_latency',
      'core_rows',
      'core_height',
    ])
    expect(open).not.toContain('otel_')
    expect(open).not.toContain('target_info')
  })

  it('has what CometBFT answers, and no sample of the rest', async () => {
    const metrics = make()
    const samples = async (): Promise<[string, number][]> =>
      [...(await page(metrics))].flatMap(([name, { samples }]) => (/^consensus_/.test(name) ? [...samples] : []))
    expect(await samples()).toEqual([])
    let round = 0
    metrics.watch(async () => ({ enginePeers: 3, engineRound: round++, enginePower: 10, engineRestarts: 2 }))
    const wanted = (r: number) => [
      ['consensus_peers', 3],
      ['consensus_round', r],
      ['consensus_voting_power', 10],
      ['consensus_engine_restarts_total', 2],
    ]
    expect(await samples()).toEqual(wanted(0))
    expect(await samples()).toEqual(wanted(1))
    metrics.watch(async () => ({ enginePeers: undefined, engineRestarts: 3 }))
    expect(await samples()).toEqual([['consensus_engine_restarts_total', 3]])
  })

  it('has no deprecated instruments where they are switched off', async () => {
    const metrics = make(fakeNative(), false)
    metrics.request(0, 0, SUCCESS, 0, 1)
    metrics.count('websocketConnects')
    const names = [...(await page(metrics)).keys()]
    expect(names.filter((name) => name.startsWith('chain_'))).toEqual([])
    expect(names).toContain('evmrpc_websocket_connects_total')
  })
})

describe('what the alerts need', () => {
  const PANIC = OUTCOMES.findIndex(({ errorClass }) => errorClass === 'panic')

  it('counts panics of all endpoints from zero on', async () => {
    const metrics = make()
    const panics = async () => samplesOf(await page(metrics)).get('evmrpc_panics_total')
    expect(await panics()).toBe(0)
    metrics.request(0, 0, SUCCESS, 0, 1)
    expect(await panics()).toBe(0)
    metrics.request(0, 0, PANIC, 0, 1)
    metrics.request(3, 1, PANIC, 0, 1)
    expect(await panics()).toBe(2)
  })

  it.each(['start', 'dev'] as const)('says that the mode is %s', async (mode) => {
    const native = fakeNative()
    const metrics = createMetrics({ catalog: native.catalog, snapshot: () => native.snapshot() }, { legacy: false, mode, ...PROGRAM })
    const modes = [...((await page(metrics)).get('node_mode')?.samples ?? [])]
    expect(modes).toEqual(['start', 'dev'].map((each) => [`node_mode{mode="${each}"}`, each === mode ? 1 : 0]))
  })
})

describe('a later scrape', () => {
  it('of an idle node is the same', async () => {
    const metrics = make()
    expect(moved(await page(metrics), await page(metrics))).toEqual({})
  })

  it('shows every change of a histogram as a first page does', async () => {
    const native = fakeNative()
    const metrics = make(native)
    const pages = new Set([await text(metrics)])
    for (const [counts, sum] of [
      [[2, 1], 0.75],
      [[1, 2], 0.75],
      [[1, 2], 1.5],
    ] as const) {
      native.latency[1] = { counts: [...counts], sum }
      expect(await text(metrics)).toBe(await text(make(native)))
      pages.add(await text(metrics))
    }
    expect(pages.size).toBe(4)
  })

  it('shows a request in its series and nowhere else', async () => {
    const metrics = make()
    const before = await page(metrics)
    metrics.request(endpointOf('eth_call'), 1, SUCCESS, 1000, 1003)
    metrics.request(endpointOf('eth_call'), 1, CUT_OFF, 1000, 1000.25)
    const after = await page(metrics)
    const changes = moved(before, after)
    const ok = 'endpoint="eth_call",connection="websocket",success="true",error_class="",jsonrpc_code=""'
    const cut = 'endpoint="eth_call",connection="websocket",success="false",error_class="unknown",jsonrpc_code=""'
    const latency = 'evmrpc_request_latency_seconds'
    expect(changes[`${latency}_count{${ok}}`]).toBe(1)
    expect(changes[`${latency}_sum{${ok}}`]).toBe(0.003)
    expect(changes[`${latency}_bucket{${ok},le="0.0025"}`]).toBeUndefined()
    expect(changes[`${latency}_bucket{${ok},le="0.005"}`]).toBe(1)
    expect(changes[`${latency}_bucket{${cut},le="0.0005"}`]).toBe(1)
    const caller = 'endpoint="eth_call",connection="websocket"'
    expect(changes[`chain_rpc_request_latency_ms_count{${caller}}`]).toBe(2)
    expect(changes[`chain_rpc_request_latency_ms_sum{${caller}}`]).toBe(3.25)
    expect(changes[`chain_rpc_request_latency_ms{${caller},quantile="0.5"}`]).toBeCloseTo(0.25, 1)
    expect(changes[`chain_rpc_request_latency_ms{${caller},quantile="0.99"}`]).toBeCloseTo(3, 0)
    expect(changes[`chain_rpc_request_counter{${caller},success="true"}`]).toBe(1)
    expect(changes[`chain_rpc_request_counter{${caller},success="false"}`]).toBe(1)
    // 13 of 16 buckets contain 3 ms, all contain 0.25 ms; two sums and counts, five of the summary,
    // two of the counter.
    expect(Object.keys(changes).length).toBe(13 + 16 + 4 + 5 + 2)
  })

  it('shows connections under both names', async () => {
    const metrics = make()
    const before = await page(metrics)
    metrics.count('websocketConnects')
    metrics.count('websocketConnects')
    expect(moved(before, await page(metrics))).toEqual({
      evmrpc_websocket_connects_total: 2,
      chain_websocket_connect: 2,
    })
  })

  it.each(COUNTED)('counts %s in the series of its labels and in no other', async (key) => {
    const instrument: Instrument = INSTRUMENTS[key]
    const metrics = make()
    const before = await page(metrics)
    const values = instrument.labels.map(({ values = ['any'] }) => values.at(-1) as string)
    const count = metrics.count as (counter: string, ...labels: string[]) => void
    count(key, ...values)
    count(key, ...values)
    // A closed label has no other values; an open one begins a series with each.
    count(key, ...values.map(() => 'unlisted'))
    const labels = instrument.labels.map(({ key }, i) => `${key}="${values[i]}"`).join(',')
    const series = `${instrument.name}${labels === '' ? '' : `{${labels}}`}`
    const isOpen = instrument.labels.some((label) => label.values === undefined)
    const { [series]: counted, ...others } = moved(before, await page(metrics))
    expect(counted).toBe(instrument.labels.length === 0 ? 3 : 2)
    const mirrored = key === 'websocketConnects' ? ['chain_websocket_connect'] : []
    expect(Object.keys(others)).toEqual(isOpen ? [expect.stringContaining('="unlisted"')] : mirrored)
  })

  it.each(WATCHED)('shows %s while it is known', async (key) => {
    const metrics = make()
    const { name } = INSTRUMENTS[key]
    const sample = async () => samplesOf(await page(metrics)).get(name)
    metrics.watch(async () => ({ [key]: 17 }))
    expect(await sample()).toBe(17)
    metrics.watch(async () => ({}))
    expect(await sample()).toBeUndefined()
  })

  it('shows the values of the core, new series included', async () => {
    const native = fakeNative()
    const metrics = make(native)
    native.rows.blocks = 3
    const before = await page(metrics)
    native.rows.blocks = 5
    native.rows.receipts = 7
    native.height = 12
    const failed = native.latency[0] as FakeNative['latency'][number]
    failed.counts[1] = 2
    failed.sum = 1.5
    expect(moved(before, await page(metrics))).toEqual({
      'core_rows_total{table="blocks"}': 2,
      'core_rows_total{table="receipts"}': 7,
      core_height: 12,
      'core_latency_bucket{success="false",le="+Inf"}': 2,
      'core_latency_sum{success="false"}': 1.5,
      'core_latency_count{success="false"}': 2,
    })
  })

  it('follows series that change places', async () => {
    const native = fakeNative()
    const metrics = make(native)
    native.rows.b = 1
    await page(metrics)
    delete native.rows.b
    native.rows.a = 2
    native.rows.b = 3
    const samples = samplesOf(await page(metrics))
    expect([samples.get('core_rows_total{table="a"}'), samples.get('core_rows_total{table="b"}')]).toEqual([2, 3])
  })

  it('fails where the core measures what it did not declare', async () => {
    const native = fakeNative()
    const metrics = createMetrics({ catalog: '[]', snapshot: () => native.snapshot() }, { legacy: true, mode: 'start', ...PROGRAM })
    await expect(metrics.scrape(undefined)).rejects.toThrow('core_latency, which is not in its table')
  })
})

describe('the listener', () => {
  const metrics = make()
  const reported: unknown[] = []
  const app = createMetricsApp(metrics.scrape, (e) => reported.push(e))

  it.each([
    [undefined, 'text/plain; version=0.0.4; charset=utf-8'],
    ['text/plain', 'text/plain; version=0.0.4; charset=utf-8'],
    [OPENMETRICS, 'application/openmetrics-text; version=1.0.0; charset=utf-8'],
  ])('answers accept %j with %s', async (accept, type) => {
    const response = await app.request('/metrics', { headers: accept === undefined ? {} : { accept } })
    const body = await response.text()
    expect([response.status, response.headers.get('content-type'), response.headers.get('vary')]).toEqual([200, type, 'accept'])
    expect(body.endsWith('# EOF\n')).toBe(accept === OPENMETRICS)
  })

  it('answers HEAD without body, 405 and 404 otherwise', async () => {
    const head = await app.request('/metrics', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
    const post = await app.request('/metrics', { method: 'POST' })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
    const other = await app.request('/')
    expect([other.status, await other.text()]).toEqual([404, 'not found: metrics are at /metrics\n'])
  })

  it('answers 500 where the page cannot be made, and reports why', async () => {
    const broken = createMetricsApp(
      () => Promise.reject(new Error('no snapshot')),
      (e) => reported.push(e),
    )
    const response = await broken.request('/metrics')
    expect([response.status, await response.text()]).toEqual([500, 'internal error\n'])
    expect(reported).toEqual([new Error('no snapshot')])
  })
})
