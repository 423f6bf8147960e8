// The metrics of a node: the recorded values, the OpenTelemetry provider over them, and the scrape
// page.
//
// The SDK's synchronous instruments record nothing: they look up an attribute object for each
// measurement. Values are in typed arrays here and in atomics in the core, and are read when a page
// is requested or pushed: counters of the RPC layer by observable instruments, the rest by a
// MetricProducer.
import type { MetricData } from '@opentelemetry/sdk-metrics'
import {
  COUNTED,
  type Counted,
  combinations,
  INSTRUMENTS,
  type Instrument,
  type NodeMode,
  WATCHED,
  type Watched,
} from '../rpc/instruments.ts'
import { ENDPOINTS, type RequestMeter } from '../rpc/meter.ts'
import { NativeMetrics, parseCatalog } from './native.ts'
import type { Observed } from './provider.ts'
import { Requests } from './requests.ts'
import { CORE_SCOPE, createScraper, type Scraper } from './scraper.ts'
import { type Cells, cellsOf, distributions, type Interval, numbers, type Point } from './series.ts'

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

/** The values of watched instruments at one moment; undefined where one is not known. */
export type Watching = { readonly [K in Watched]?: number | undefined }

/** The metrics of one node. */
export interface Metrics extends RequestMeter, Scraper {
  /** Reads the watched instruments for each page from now on; `read` does not reject. */
  watch(read: () => Promise<Watching>): void
}

/** Name of the meter of the RPC layer's instruments. */
const RPC_SCOPE = 'evmrpc'

/** The counters that `count` counts, by key. */
type Counters = ReadonlyMap<Counted, Cells>

/** The value of an instrument without labels; no sample where it is not known. */
const sampleOf = (value: number | undefined): Point<number>[] => (value === undefined ? [] : [{ labels: {}, value }])

/** Counters, and what is known from the start: observable instruments of the RPC layer's meter. */
function observedOf(requests: Requests, counters: Counters, mode: NodeMode): Observed[] {
  const modes = combinations(INSTRUMENTS.mode.labels).map((labels) => ({ labels, value: labels.mode === mode ? 1 : 0 }))
  return [
    { instrument: INSTRUMENTS.panics, points: () => requests.panics() },
    { instrument: INSTRUMENTS.mode, points: () => modes },
    ...Array.from(counters, ([key, cells]): Observed => ({ instrument: INSTRUMENTS[key], points: () => cells.points() })),
  ]
}

/**
 * The values of the other instruments of the RPC layer. The series of requests grow with the
 * methods that are called; those of watched instruments end while they are not known, and the SDK
 * keeps the last value of an observable instrument.
 */
function produced(requests: Requests, counters: Counters, legacy: boolean, interval: Interval, watching: Watching = {}): MetricData[] {
  const data = [
    distributions(INSTRUMENTS.requests, interval, requests.latencies()),
    ...WATCHED.map((key) => numbers(INSTRUMENTS[key], interval, sampleOf(watching[key]))),
  ]
  if (!legacy) return data
  return [
    ...data,
    distributions(INSTRUMENTS.legacyLatency, interval, requests.legacyLatencies(performance.now())),
    numbers(INSTRUMENTS.legacyRequests, interval, requests.legacyCounts()),
    numbers(INSTRUMENTS.legacyConnects, interval, counters.get('websocketConnects')?.points() ?? []),
  ]
}

/** The instruments of this process. */
export function createMetrics(
  native: NativeSource,
  { legacy, mode, version, otlp, report, endpoints = ENDPOINTS }: MetricsOptions,
): Metrics {
  const requests = new Requests(legacy, performance.now(), endpoints)
  const counters: Counters = new Map(COUNTED.map((key) => [key, cellsOf(INSTRUMENTS[key])]))
  let read: (() => Promise<Watching>) | undefined
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
      observed: observedOf(requests, counters, mode),
      collect: async (interval) => [
        { scope: { name: RPC_SCOPE }, metrics: produced(requests, counters, legacy, interval, await read?.()) },
        { scope: { name: CORE_SCOPE }, metrics: collect(interval) },
      ],
    },
    { version, otlp, report },
  )
  return {
    now: () => performance.now(),
    request: (endpoint, connection, outcome, from, to) => requests.record(endpoint, connection, outcome, from, to),
    count: (counter, ...labels) => counters.get(counter)?.count(labels),
    watch: (reader) => {
      read = reader
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
