// The OpenTelemetry side of the metrics: the global provider, metrics of other meters on the page,
// and the push to a collector by OTLP.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { metrics as api } from '@opentelemetry/api'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { startMetrics } from '../../ts/cli/metrics.ts'
import { resolveSettings } from '../../ts/config/index.ts'
import { createMetrics, type Metrics } from '../../ts/metrics/index.ts'
import { createProvider } from '../../ts/metrics/provider.ts'
import { INSTRUMENTS } from '../../ts/rpc/instruments.ts'
import { endpointOf } from '../../ts/rpc/meter.ts'
import { SUCCESS } from '../../ts/rpc/outcome.ts'
import { Readiness } from '../../ts/server/index.ts'
import { until } from '../e2e/waiting.ts'
import { fakeCore, fakeNative } from './fake-core.ts'
import { parseScrape, samplesOf } from './scrape.ts'

const open: Metrics[] = []
const reported: unknown[] = []

function make(otlp = false): Metrics {
  const native = fakeNative()
  const source = { catalog: native.catalog, snapshot: () => native.snapshot() }
  const made = createMetrics(source, { legacy: true, mode: 'start', version: '1.2.3', otlp, report: (e) => reported.push(e) })
  open.push(made)
  return made
}

afterEach(async () => {
  for (const metrics of open.splice(0)) await metrics.shutdown()
  vi.unstubAllEnvs()
  reported.length = 0
})

const text = async (metrics: Metrics, accept?: string): Promise<string> => new TextDecoder().decode((await metrics.scrape(accept)).body)

/** The samples of a page whose comments may be any. */
const values = (page: string): string[] => page.split('\n').filter((line) => line !== '' && !line.startsWith('#'))

describe('the global provider', () => {
  it('shows the metrics of other meters behind its own', async () => {
    const metrics = make()
    await metrics.open()
    const own = await text(metrics)
    const counter = api.getMeter('plugin', '2').createCounter('plugin.requests', { description: 'Requests' })
    counter.add(3, { kind: 'a' })
    const { contentType, body } = await metrics.scrape('application/openmetrics-text; version=1.0.0')
    const page = new TextDecoder().decode(body)
    expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(page.startsWith(own)).toBe(true)
    expect(values(page.slice(own.length))).toEqual(['plugin_requests_total{kind="a",otel_scope_name="plugin",otel_scope_version="2"} 3'])
  })

  it('does not show names of the tables from other meters', async () => {
    const metrics = make()
    metrics.count('websocketConnects')
    const before = await text(metrics)
    api.getMeter('plugin').createCounter('evmrpc_websocket_connects_total').add(7)
    api.getMeter('evmrpc').createHistogram('evmrpc_request_latency_seconds').record(1)
    expect(await text(metrics)).toBe(before)
    expect(samplesOf(parseScrape(before, 'prometheus')).get('evmrpc_websocket_connects_total')).toBe(1)
  })

  it('keeps counters that have not changed on each page', async () => {
    const metrics = make()
    const valuesOf = async () => {
      const samples = samplesOf(parseScrape(await text(metrics), 'prometheus'))
      return ['timeout', 'busy'].map((reason) => samples.get(`evmrpc_redirect_failures_total{reason="${reason}"}`))
    }
    metrics.count('redirectFailures', 'timeout')
    expect(await valuesOf()).toEqual([1, 0])
    expect(await valuesOf()).toEqual([1, 0])
    metrics.count('redirectFailures', 'timeout')
    expect(await valuesOf()).toEqual([2, 0])
    expect(await valuesOf()).toEqual([2, 0])
  })

  it('is the first one of the process, until it ends', async () => {
    const [first, second] = [make(), make()]
    await first.open()
    const provider = api.getMeterProvider()
    await second.open()
    expect(api.getMeterProvider()).toBe(provider)
    await second.shutdown()
    expect(api.getMeterProvider()).toBe(provider)
    await first.shutdown()
    expect(api.getMeterProvider()).not.toBe(provider)
    open.length = 0
  })

  it('has resource attributes, also of the environment', async () => {
    const sources = { scope: 'x', observed: [], produce: async () => [] }
    const resource = async () => {
      const provider = await createProvider(sources, { version: '1.2.3', otlp: false, report: () => undefined })
      const { attributes } = (await provider.collect()).resource
      await provider.shutdown()
      return attributes
    }
    expect(await resource()).toEqual({ 'service.name': 'hearth', 'service.version': '1.2.3' })
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test,service.name=a')
    vi.stubEnv('OTEL_SERVICE_NAME', 'validator-3')
    expect(await resource()).toEqual({
      'service.name': 'validator-3',
      'service.version': '1.2.3',
      'deployment.environment.name': 'test',
    })
  })
})

describe('the push by OTLP', () => {
  /** A collector that answers with a status and keeps what it gets. */
  async function collector(status: number) {
    const got: { url: string | undefined; type: string | undefined; key: unknown; body: Buffer }[] = []
    const server = http.createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const { url, headers } = request
        got.push({ url, type: headers['content-type'], key: headers['x-key'], body: Buffer.concat(chunks) })
        response.writeHead(status).end()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${port}`)
    vi.stubEnv('OTEL_EXPORTER_OTLP_HEADERS', 'x-key=secret')
    return { got, stop: () => new Promise((resolve) => server.close(resolve)) }
  }

  it('sends every instrument of both tables and the resource', async () => {
    const { got, stop } = await collector(200)
    const metrics = make(true)
    metrics.request(endpointOf('eth_baseFee'), 0, SUCCESS, 0, 3)
    metrics.count('cosmosQueries', 'rest', 'x', '0')
    metrics.watch(async () => ({ enginePeers: 3, engineRound: 0, enginePower: 10, engineRestarts: 2 }))
    await metrics.scrape(undefined)
    await metrics.shutdown()
    open.length = 0
    await stop()
    expect(got.map(({ url, type, key }) => [url, type, key])).toEqual([['/v1/metrics', 'application/x-protobuf', 'secret']])
    // Strings stand in protobuf as they are.
    const sent = (got[0] as (typeof got)[number]).body.toString('latin1')
    const names = [...Object.values(INSTRUMENTS).map(({ name }) => name), 'core_latency', 'core_rows', 'core_height']
    const wanted = [...names, 'service.name', 'hearth', 'service.version', '1.2.3', 'eth_baseFee', 'validator-3']
    expect(wanted.filter((word) => !sent.includes(word))).toEqual(['validator-3'])
    expect(reported).toEqual([])
  })

  it('reports a push that the collector refuses', async () => {
    const { got, stop } = await collector(400)
    const metrics = make(true)
    await metrics.open()
    await metrics.shutdown().catch((e: unknown) => reported.push(e))
    open.length = 0
    await stop()
    expect(got.length).toBe(1)
    expect(reported.map(String)).toEqual([
      'PushError: OpenTelemetry: PeriodicExportingMetricReader: metrics export failed (error OTLPExporterError: Bad Request)',
    ])
  })

  it('ends without an answer of the collector', async () => {
    const held: http.ServerResponse[] = []
    const collector = http.createServer((_, res) => void held.push(res))
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(collector.address() as AddressInfo).port}`)
    const metrics = make(true)
    await metrics.open()
    await metrics.shutdown()
    open.length = 0
    expect(held).toHaveLength(1)
    expect(held[0]?.writableEnded).toBe(false)
    expect(reported.map(String)).toEqual([
      'PushError: OpenTelemetry: the collector did not take the last metrics within 2000 ms of the stop',
    ])
    collector.closeAllConnections()
    collector.close()
  })

  it('goes out of a node that serves no page', async () => {
    const { got, stop } = await collector(200)
    vi.stubEnv('OTEL_METRIC_EXPORT_INTERVAL', '50')
    const { settings } = resolveSettings({
      flags: new Map([
        ['metrics.enabled', 'false'],
        ['metrics.otlp', 'true'],
      ]),
    })
    const metrics = await startMetrics(
      () => ({ ...fakeCore({}), metricsSnapshot: () => '[]' }),
      'start',
      settings,
      new Readiness(),
      (e) => reported.push(e),
    )
    expect(metrics.url).toBeUndefined()
    await until('a push', () => got.length > 0)
    await metrics.stop()
    await stop()
    expect(got[0]?.url).toBe('/v1/metrics')
    expect(reported).toEqual([])
  })

  it('is off without its setting', async () => {
    const { got, stop } = await collector(200)
    const metrics = make(false)
    await metrics.scrape(undefined)
    await metrics.shutdown()
    open.length = 0
    await stop()
    expect(got).toEqual([])
  })
})
