// Slow requests as spans that a collector receives by OTLP, and the protocols of pushes.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { checkFiles } from '../../ts/cli/check-files.ts'
import { resolveSettings } from '../../ts/config/index.ts'
import { createMetrics } from '../../ts/metrics/index.ts'
import { otlpProtocol } from '../../ts/metrics/otlp-protocol.ts'
import { slowSpans } from '../../ts/metrics/spans.ts'
import type { SlowRequest } from '../../ts/rpc/meter.ts'
import { fakeNative } from './fake-core.ts'

interface Push {
  readonly url: string | undefined
  readonly type: string | undefined
  readonly body: Buffer
}

const pushes: Push[] = []
let server: http.Server
let status = 200

beforeEach(async () => {
  server = http.createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      pushes.push({ url: request.url, type: request.headers['content-type'], body: Buffer.concat(chunks) })
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})

afterEach(async () => {
  vi.unstubAllEnvs()
  pushes.length = 0
  status = 200
  await new Promise((resolve) => server.close(resolve))
})

const request: SlowRequest = {
  method: 'debug_traceBlockByNumber',
  connection: 'websocket',
  client: '203.0.113.9',
  ms: 1500,
  bytes: 70_000,
  success: true,
  errorClass: '',
}

interface SpanJson {
  readonly name: string
  readonly kind: number
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code: number }
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[]
}

interface PushJson {
  readonly resourceSpans: readonly [
    { readonly resource: Pick<SpanJson, 'attributes'>; readonly scopeSpans: readonly [{ readonly spans: readonly SpanJson[] }] },
  ]
}

const attributesOf = ({ attributes }: Pick<SpanJson, 'attributes'>) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]))

describe('spans of slow requests', () => {
  it('have the request, its time and how it ended', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json')
    const reported: unknown[] = []
    const spans = slowSpans('1.2.3', (e) => reported.push(e))
    const before = Date.now()
    spans.record(request)
    spans.record({ ...request, method: undefined, client: undefined, success: false, errorClass: 'jsonrpc_error' })
    await spans.shutdown()
    expect(pushes.map(({ url, type }) => [url, type])).toEqual([['/v1/traces', 'application/json']])
    const [{ resource, scopeSpans }] = (JSON.parse(pushes[0]?.body.toString() ?? '') as PushJson).resourceSpans
    expect(attributesOf(resource)).toEqual({ 'service.name': 'hearth', 'service.version': '1.2.3' })
    const [{ spans: sent }] = scopeSpans
    expect(sent.map(({ name, kind, status, parentSpanId }) => [name, kind, status.code, parentSpanId])).toEqual([
      ['debug_traceBlockByNumber', 2, 0, undefined],
      ['invalid', 2, 2, undefined],
    ])
    const [first, second] = sent as [SpanJson, SpanJson]
    expect(BigInt(first.endTimeUnixNano) - BigInt(first.startTimeUnixNano)).toBe(1_500_000_000n)
    expect(Number(BigInt(first.endTimeUnixNano) / 1_000_000n)).toBeGreaterThanOrEqual(before)
    expect(attributesOf(first)).toEqual({
      'rpc.system.name': 'jsonrpc',
      'rpc.method': 'debug_traceBlockByNumber',
      'network.protocol.name': 'websocket',
      'client.address': '203.0.113.9',
      'hearth.result_bytes': 70_000,
    })
    expect(attributesOf(second)['error.type']).toBe('jsonrpc_error')
    expect(reported).toEqual([])
  })

  it('are protobuf where no variable names a protocol', async () => {
    const spans = slowSpans('1.2.3', () => undefined)
    spans.record(request)
    await spans.shutdown()
    expect(pushes.map(({ url, type }) => [url, type])).toEqual([['/v1/traces', 'application/x-protobuf']])
    expect(pushes[0]?.body.includes('debug_traceBlockByNumber')).toBe(true)
  })

  it('that a collector refuses are reported', async () => {
    status = 400
    const reported: unknown[] = []
    const spans = slowSpans('1.2.3', (e) => reported.push(e))
    spans.record(request)
    await spans.shutdown()
    expect(reported.map(String)).toEqual(['OTLPExporterError: Bad Request'])
  })

  it('are as many as wait for the SDK, and none after the end', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json')
    const spans = slowSpans('1.2.3', () => undefined)
    for (let i = 0; i < 3_000; i++) spans.record(request)
    await spans.shutdown()
    spans.record(request)
    const sent = pushes.map(({ body }) => (JSON.parse(body.toString()) as PushJson).resourceSpans[0].scopeSpans[0].spans.length)
    expect(sent.reduce((sum, n) => sum + n, 0)).toBe(2_048)
  })
})

describe('the protocol of pushes', () => {
  it('is that of the signal, or of all, or protobuf', () => {
    expect(otlpProtocol('METRICS')).toBe('http/protobuf')
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json')
    expect([otlpProtocol('METRICS'), otlpProtocol('TRACES')]).toEqual(['http/json', 'http/json'])
    vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'http/protobuf')
    expect([otlpProtocol('METRICS'), otlpProtocol('TRACES')]).toEqual(['http/json', 'http/protobuf'])
    vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', '')
    expect(otlpProtocol('TRACES')).toBe('http/json')
  })

  it('of metrics is JSON where that is chosen', async () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_METRICS_PROTOCOL', 'http/json')
    const native = fakeNative()
    const source = { catalog: native.catalog, snapshot: () => native.snapshot() }
    const reported: unknown[] = []
    const report = (e: unknown) => reported.push(e)
    const metrics = createMetrics(source, { legacy: true, mode: 'start', version: '1.2.3', otlp: true, report })
    await metrics.open()
    const spans = slowSpans('1.2.3', report)
    spans.record(request)
    await spans.shutdown()
    await metrics.shutdown()
    const sent = pushes.map(({ url, type }) => [url, type])
    expect(sent).toEqual([
      ['/v1/traces', 'application/x-protobuf'],
      ['/v1/metrics', 'application/json'],
    ])
    expect(JSON.parse(pushes[1]?.body.toString() ?? '')).toHaveProperty('resourceMetrics')
    expect(reported).toEqual([])
  })

  it('that is not supported stops a start that needs it', () => {
    vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc')
    const check = (...flags: [string, string][]) => checkFiles(resolveSettings({ flags: new Map(flags) }))
    expect(() => check()).not.toThrow()
    const message = 'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": set http/protobuf or http/json, which collectors take at port 4318'
    expect(() => check(['metrics.otlp', 'true'])).toThrow(message)
    expect(() => check(['evm.slow_request_traces', 'true'])).toThrow(message)
    expect(() => check(['metrics.otlp', 'true'], ['evm.slow_request_traces', 'true'])).toThrow(expect.objectContaining({ message }))
    vi.stubEnv('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'http/json')
    expect(() => check(['evm.slow_request_traces', 'true'])).not.toThrow()
    expect(() => check(['metrics.otlp', 'true'])).toThrow(message)
  })
})
