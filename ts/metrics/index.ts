// The metrics of a node: the recorded values, the OpenTelemetry provider over them, and the scrape
// page.
//
// The SDK's own instruments record nothing: they look up an attribute object for each measurement.
// Values are in typed arrays here and in atomics in the core; one MetricProducer passes both to the
// SDK's reader when a page is requested.
import type { MetricData } from '@opentelemetry/sdk-metrics'
import { CONNECTIONS, ENDPOINTS, type RequestMeter } from '../rpc/meter.ts'
import { FORWARDED_METHODS } from '../rpc/submission.ts'
import { NativeMetrics, parseCatalog } from './native.ts'
import { Requests } from './requests.ts'
import { createScraper, type Scraper } from './scraper.ts'
import { Cells, distributions, type Interval, numbers, OpenCells } from './series.ts'
import { combinations, INSTRUMENTS, type Instrument, type NodeMode, TRACE_METHODS } from './table.ts'

export type { Page, Scraper } from './scraper.ts'

/** Where native metrics come from. */
export interface NativeSource {
  /**
   * The core's table of instruments, as JSON; read with the first page, so that it does not slow
   * down the start.
   */
  readonly catalog: string
  /** The values of this moment, as JSON. */
  readonly snapshot: () => string
}

/** What can be chosen. */
export interface MetricsOptions {
  /** Whether the deprecated instruments are on the page. */
  readonly legacy: boolean
  /** How the node was started. */
  readonly mode: NodeMode
  /** Values of the label `endpoint`; those of the method table unless a bench has others. */
  readonly endpoints?: readonly string[]
}

/** What the metrics of a node say of its CometBFT; undefined where that is not known. */
export interface EngineSample {
  readonly peers: number | undefined
  readonly round: number | undefined
  readonly votingPower: number | undefined
  readonly restarts: number | undefined
}

/** The metrics of one node. */
export interface Metrics extends RequestMeter, Scraper {
  /** A WebSocket connection was opened. */
  websocketConnect(): void
  /** Reads the state of CometBFT for each page from now on; `read` does not reject. */
  watchEngine(read: () => Promise<EngineSample>): void
  /** A query over REST or gRPC ended with a code of gRPC. */
  query(listener: string, query: string, code: number): void
}

/** Most series of queries: names of the table of queries by listener and code are fewer. */
const QUERY_SERIES_MAX = 2000

/** The instruments of this process. */
export function createMetrics(native: NativeSource, { legacy, mode, endpoints = ENDPOINTS }: MetricsOptions): Metrics {
  const now = (): number => performance.now()
  const requests = new Requests(legacy, now(), endpoints)
  const connects = new Cells(INSTRUMENTS.websocketConnects)
  const redirected = new Cells(INSTRUMENTS.redirected)
  const cosmosQueries = new OpenCells(['listener', 'query', 'code'], QUERY_SERIES_MAX)
  const redirectFailures = new Cells(INSTRUMENTS.redirectFailures)
  const historical = new Cells(INSTRUMENTS.historicalTraces)
  const modes = combinations(INSTRUMENTS.mode.labels).map((labels) => ({ labels, value: labels.mode === mode ? 1 : 0 }))
  /** Maps the index of an endpoint to the index of a method in the given list. */
  const placesOf = (names: readonly string[]): ReadonlyMap<number, number> =>
    new Map(names.map((name, place) => [endpoints.indexOf(name), place]))
  const traces = placesOf(TRACE_METHODS)
  const forwarded = placesOf(FORWARDED_METHODS)

  let readEngine: (() => Promise<EngineSample>) | undefined
  let engine: EngineSample | undefined
  const samplesOf = (value: number | undefined) => (value === undefined ? [] : [{ labels: {}, value }])

  const own = (interval: Interval): MetricData[] => [
    distributions(INSTRUMENTS.requests, interval, requests.latencies()),
    numbers(INSTRUMENTS.panics, interval, requests.panics()),
    numbers(INSTRUMENTS.mode, interval, modes),
    numbers(INSTRUMENTS.websocketConnects, interval, connects.points()),
    numbers(INSTRUMENTS.redirected, interval, redirected.points()),
    numbers(INSTRUMENTS.cosmosQueries, interval, cosmosQueries.points()),
    numbers(INSTRUMENTS.redirectFailures, interval, redirectFailures.points()),
    numbers(INSTRUMENTS.enginePeers, interval, samplesOf(engine?.peers)),
    numbers(INSTRUMENTS.engineRound, interval, samplesOf(engine?.round)),
    numbers(INSTRUMENTS.enginePower, interval, samplesOf(engine?.votingPower)),
    numbers(INSTRUMENTS.engineRestarts, interval, samplesOf(engine?.restarts)),
    numbers(INSTRUMENTS.historicalTraces, interval, historical.points()),
    ...(legacy ? deprecated(interval) : []),
  ]
  const deprecated = (interval: Interval): MetricData[] => [
    distributions(INSTRUMENTS.legacyLatency, interval, requests.legacyLatencies(now())),
    numbers(INSTRUMENTS.legacyRequests, interval, requests.legacyCounts()),
    numbers(INSTRUMENTS.legacyConnects, interval, connects.points()),
  ]
  let known: readonly Instrument[] | undefined
  const catalog = (): readonly Instrument[] => {
    known ??= parseCatalog(native.catalog)
    return known
  }
  let core: NativeMetrics | undefined
  const collect = (interval: Interval): MetricData[] => {
    core ??= new NativeMetrics(catalog(), native.snapshot)
    return core.collect(interval)
  }
  const scraper = createScraper(
    () => [...Object.values(INSTRUMENTS), ...catalog()],
    (interval) => [
      { scope: { name: 'evmrpc' }, metrics: own(interval) },
      { scope: { name: 'core' }, metrics: collect(interval) },
    ],
  )
  return {
    now,
    request: (endpoint, connection, outcome, from, to) => requests.record(endpoint, connection, outcome, from, to),
    redirected: (endpoint, connection) => {
      const place = forwarded.get(endpoint)
      if (place !== undefined) redirected.count(place * CONNECTIONS.length + connection)
    },
    query: (listener, query, code) => cosmosQueries.count([listener, query, String(code)]),
    redirectFailed: (reason) => redirectFailures.count(reason),
    historicalTrace: (endpoint, connection) => {
      const place = traces.get(endpoint)
      if (place !== undefined) historical.count(place * CONNECTIONS.length + connection)
    },
    websocketConnect: () => connects.count(),
    watchEngine: (read) => {
      readEngine = read
    },
    shutdown: scraper.shutdown,
    scrape: async (accept) => {
      engine = await readEngine?.()
      return await scraper.scrape(accept)
    },
  }
}

/**
 * The page of a store that is used without a node: only the native instruments whose names begin
 * with the prefix.
 */
export function createNativeMetrics(native: NativeSource, prefix: string): Scraper {
  const catalog = parseCatalog(native.catalog)
  const core = new NativeMetrics(catalog, native.snapshot)
  const wanted = catalog.filter(({ name }) => name.startsWith(prefix))
  return createScraper(
    () => wanted,
    (interval) => {
      const metrics = core.collect(interval).filter(({ descriptor }) => descriptor.name.startsWith(prefix))
      return [{ scope: { name: 'core' }, metrics }]
    },
  )
}
