// The metrics of a node: the recorded values, the OpenTelemetry provider over them, and the scrape
// page.
//
// The SDK's synchronous instruments record nothing: they look up an attribute object for each
// measurement. Values are in typed arrays here and in atomics in the core, and are read when a page
// is requested or pushed: counters of the RPC layer by observable instruments, the rest by a
// MetricProducer.
import type { MetricData } from '@opentelemetry/sdk-metrics'
import { CONNECTIONS, ENDPOINTS, type RequestMeter } from '../rpc/meter.ts'
import { FORWARDED_METHODS } from '../rpc/submission.ts'
import { NativeMetrics, parseCatalog } from './native.ts'
import type { Observed } from './provider.ts'
import { Requests } from './requests.ts'
import { CORE_SCOPE, createScraper, type Scraper } from './scraper.ts'
import { Cells, distributions, type Interval, numbers, OpenCells, type Point } from './series.ts'
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
  /** Version of this program. */
  readonly version: string
  /** Whether metrics are pushed by OTLP. */
  readonly otlp: boolean
  /** Gets failures of pushes. */
  readonly report: (e: unknown) => void
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

/** Name of the meter of the RPC layer's instruments. */
const RPC_SCOPE = 'evmrpc'

/** Most series of queries: names of the table of queries by listener and code are fewer. */
const QUERY_SERIES_MAX = 2000

/** The instruments of this process. */
export function createMetrics(
  native: NativeSource,
  { legacy, mode, version, otlp, report, endpoints = ENDPOINTS }: MetricsOptions,
): Metrics {
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
  const samplesOf = (value: number | undefined) => (value === undefined ? [] : [{ labels: {}, value }])

  const observe = (instrument: Instrument, points: () => readonly Point<number>[]): Observed => ({ instrument, points })
  const observed: Observed[] = [
    observe(INSTRUMENTS.panics, () => requests.panics()),
    observe(INSTRUMENTS.mode, () => modes),
    observe(INSTRUMENTS.websocketConnects, () => connects.points()),
    observe(INSTRUMENTS.redirected, () => redirected.points()),
    observe(INSTRUMENTS.cosmosQueries, () => cosmosQueries.points()),
    observe(INSTRUMENTS.redirectFailures, () => redirectFailures.points()),
    observe(INSTRUMENTS.historicalTraces, () => historical.points()),
  ]
  // The series of requests grow with the methods that are called; those of CometBFT end while it
  // does not answer, and the SDK keeps the last value of an observable instrument.
  const produced = (interval: Interval, engine: EngineSample | undefined): MetricData[] => [
    distributions(INSTRUMENTS.requests, interval, requests.latencies()),
    numbers(INSTRUMENTS.enginePeers, interval, samplesOf(engine?.peers)),
    numbers(INSTRUMENTS.engineRound, interval, samplesOf(engine?.round)),
    numbers(INSTRUMENTS.enginePower, interval, samplesOf(engine?.votingPower)),
    numbers(INSTRUMENTS.engineRestarts, interval, samplesOf(engine?.restarts)),
    ...(legacy ? deprecated(interval) : []),
  ]
  const deprecated = (interval: Interval): MetricData[] => [
    distributions(INSTRUMENTS.legacyLatency, interval, requests.legacyLatencies(now())),
    numbers(INSTRUMENTS.legacyRequests, interval, requests.legacyCounts()),
    numbers(INSTRUMENTS.legacyConnects, interval, connects.points()),
  ]
  const shown = Object.values<Instrument>(INSTRUMENTS).filter((instrument) => legacy || instrument.legacy !== true)
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
    {
      instruments: () => [...shown, ...catalog()],
      scope: RPC_SCOPE,
      observed,
      collect: async (interval) => [
        { scope: { name: RPC_SCOPE }, metrics: produced(interval, await readEngine?.()) },
        { scope: { name: CORE_SCOPE }, metrics: collect(interval) },
      ],
    },
    { version, otlp, report },
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
    open: scraper.open,
    shutdown: scraper.shutdown,
    scrape: scraper.scrape,
  }
}

/**
 * The page of a store that is used without a node: only the native instruments whose names begin
 * with the prefix.
 */
export function createNativeMetrics(native: NativeSource, prefix: string, version: string): Scraper {
  const catalog = parseCatalog(native.catalog)
  const core = new NativeMetrics(catalog, native.snapshot)
  const wanted = catalog.filter(({ name }) => name.startsWith(prefix))
  const collect = (interval: Interval): MetricData[] =>
    core.collect(interval).filter(({ descriptor }) => descriptor.name.startsWith(prefix))
  return createScraper(
    {
      instruments: () => wanted,
      scope: CORE_SCOPE,
      observed: [],
      collect: async (interval) => [{ scope: { name: CORE_SCOPE }, metrics: collect(interval) }],
    },
    { version, otlp: false, report: () => undefined },
  )
}
