// The metrics of a node: what is recorded, the OpenTelemetry provider over it, and the scrape page.
//
// Nothing is recorded in the SDK's own instruments: they look up an attribute object for each measurement. Values live in typed arrays here
// and in atomics in the core; one MetricProducer brings both to the SDK's reader when a page is asked for.
import { emptyResource } from '@opentelemetry/resources'
import { type CollectionResult, MeterProvider, type MetricData, type MetricProducer, MetricReader } from '@opentelemetry/sdk-metrics'
import { ENDPOINTS, type RequestMeter } from '../rpc/meter.ts'
import { CONTENT_TYPES, Exposition, type Format, negotiateFormat } from './exposition.ts'
import { NativeMetrics, parseCatalog } from './native.ts'
import { Requests } from './requests.ts'
import { Cells, distributions, type Interval, numbers } from './series.ts'
import { INSTRUMENTS, type Instrument } from './table.ts'

/** Where native metrics come from. */
export interface NativeSource {
  /** The core's table of instruments, as JSON. */
  readonly catalog: string
  /** The values of this moment, as JSON. */
  readonly snapshot: () => string
}

/** What can be chosen. */
export interface MetricsOptions {
  /** Whether the deprecated instruments are on the page. */
  readonly legacy: boolean
  /** Values of the label `endpoint`; those of the method table unless a bench has others. */
  readonly endpoints?: readonly string[]
}

/** A page for a client. */
export interface Page {
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** The metrics of one node. */
export interface Metrics extends RequestMeter {
  /** A WebSocket connection was opened. */
  websocketConnect(): void
  /** The scrape page in the format that an Accept header asks for. */
  scrape(accept: string | undefined): Promise<Page>
  /** Ends the provider; no page after that. */
  shutdown(): Promise<void>
}

/** Collects on demand; there is nothing to flush and nothing to stop. */
class ScrapeReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** Milliseconds since the epoch as seconds and nanoseconds. */
const hrTime = (ms: number): [number, number] => [Math.floor(ms / 1000), Math.round((ms % 1000) * 1e6)]

/** The instruments of this process. */
export function createMetrics(native: NativeSource, { legacy, endpoints = ENDPOINTS }: MetricsOptions): Metrics {
  const now = (): number => performance.now()
  const began = hrTime(Date.now())
  const catalog = parseCatalog(native.catalog)
  const core = new NativeMetrics(catalog, native.snapshot)
  const requests = new Requests(legacy, now(), endpoints)
  const connects = new Cells(INSTRUMENTS.websocketConnects)
  // Nothing redirects yet, and nothing refuses old blocks: these two stay at zero until something does.
  const redirected = new Cells(INSTRUMENTS.redirected)
  const historical = new Cells(INSTRUMENTS.historicalTraces)

  const own = (interval: Interval): MetricData[] => [
    distributions(INSTRUMENTS.requests, interval, requests.latencies()),
    numbers(INSTRUMENTS.websocketConnects, interval, connects.points()),
    numbers(INSTRUMENTS.redirected, interval, redirected.points()),
    numbers(INSTRUMENTS.historicalTraces, interval, historical.points()),
    ...(legacy ? deprecated(interval) : []),
  ]
  const deprecated = (interval: Interval): MetricData[] => [
    distributions(INSTRUMENTS.legacyLatency, interval, requests.legacyLatencies(now())),
    numbers(INSTRUMENTS.legacyRequests, interval, requests.legacyCounts()),
    numbers(INSTRUMENTS.legacyConnects, interval, connects.points()),
  ]
  const producer: MetricProducer = {
    async collect(): Promise<CollectionResult> {
      const interval = { startTime: began, endTime: hrTime(Date.now()) }
      const scopeMetrics = [
        { scope: { name: 'evmrpc' }, metrics: own(interval) },
        { scope: { name: 'core' }, metrics: core.collect(interval) },
      ]
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] }
    },
  }
  const reader = new ScrapeReader({ metricProducers: [producer] })
  const provider = new MeterProvider({ readers: [reader] })
  const instruments: readonly Instrument[] = [...Object.values(INSTRUMENTS), ...catalog]
  const pages: Record<Format, Exposition> = {
    prometheus: new Exposition('prometheus', instruments),
    openmetrics: new Exposition('openmetrics', instruments),
  }
  return {
    now,
    request: (endpoint, connection, outcome, from, to) => requests.record(endpoint, connection, outcome, from, to),
    websocketConnect: () => connects.count(),
    async scrape(accept) {
      const format = negotiateFormat(accept)
      const { resourceMetrics } = await reader.collect()
      return { contentType: CONTENT_TYPES[format], body: pages[format].page(resourceMetrics) }
    },
    shutdown: () => provider.shutdown(),
  }
}
