// The OpenTelemetry SDK of this process: a MeterProvider, registered globally, whose readers are
// the scrape page and, where it is wanted, a push by OTLP.
//
// Counters of the RPC layer are observable instruments of its meter. Histograms and what the core
// measures are not: the API has no observable histogram, and the SDK hashes the attributes of each
// observation, which for all series takes about as long as making the page does. A producer gives
// their points to every reader.
import { metrics, type ObservableResult } from '@opentelemetry/api'
import { emptyResource } from '@opentelemetry/resources'
import {
  type CollectionResult,
  type IMetricReader,
  MeterProvider,
  type MetricProducer,
  MetricReader,
  type ResourceMetrics,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics'
import type { Instrument } from '../rpc/instruments.ts'
import { lastPush } from './last-push.ts'
import { resourceOf } from './resource.ts'
import type { Labels, Point } from './series.ts'

/** Collects on demand; there is nothing to flush and nothing to stop. */
class ScrapeReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** A counter or gauge and its values at one moment. */
export interface Observed {
  readonly instrument: Instrument
  readonly points: () => readonly Point<number>[]
}

/** What a provider is made of. */
export interface Sources {
  /** Name of the meter of the observed instruments. */
  readonly scope: string
  readonly observed: readonly Observed[]
  /** The points of all other instruments at one moment. */
  readonly produce: () => Promise<ScopeMetrics[]>
}

/** What can be chosen. */
export interface ProviderOptions {
  /** Version of this program, for the attribute service.version. */
  readonly version: string
  /** Whether metrics are pushed by OTLP. */
  readonly otlp: boolean
  /** Gets failures of pushes. */
  readonly report: (e: unknown) => void
}

/** A provider with its readers. */
export interface Provider {
  readonly collect: () => Promise<ResourceMetrics>
  /** Pushes what is not pushed yet, for at most two seconds, and ends all readers. */
  readonly shutdown: () => Promise<void>
}

/** Makes a provider, and registers it unless this process has a global one already. */
export async function createProvider({ scope, observed, produce }: Sources, { version, otlp, report }: ProviderOptions): Promise<Provider> {
  const producer: MetricProducer = {
    async collect(): Promise<CollectionResult> {
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics: await produce() }, errors: [] }
    },
  }
  const page = new ScrapeReader({ metricProducers: [producer] })
  const readers: IMetricReader[] = [page]
  if (otlp) {
    const { otlpReader, reportFailures } = await import('./otlp.ts')
    reportFailures(report)
    readers.push(await otlpReader(producer))
  }
  const provider = new MeterProvider({ readers, resource: resourceOf(version) })
  observe(provider, scope, observed)
  const isGlobal = metrics.setGlobalMeterProvider(provider)
  return {
    collect: async () => {
      const { resourceMetrics, errors } = await page.collect()
      if (errors.length > 0) throw errors[0]
      return resourceMetrics
    },
    shutdown: async () => {
      if (isGlobal) metrics.disable()
      await lastPush('metrics', provider.shutdown(), report)
    },
  }
}

/**
 * Makes the observable instruments. The SDK hashes the attributes of each observation, and keeps
 * what a series had last (`TemporalMetricProcessor` of sdk-metrics), so a series of a counter is
 * observed again only once its value has changed. A gauge is observed each time: a push of deltas
 * sends only what was observed since the last one.
 */
function observe(provider: MeterProvider, scope: string, observed: readonly Observed[]): void {
  const meter = provider.getMeter(scope)
  for (const { instrument, points } of observed) {
    const { name, kind, help: description, unit } = instrument
    const options = { description, unit }
    const made = kind === 'counter' ? meter.createObservableCounter(name, options) : meter.createObservableGauge(name, options)
    const last = new Map<Labels, number>()
    made.addCallback((result: ObservableResult) => {
      for (const { labels, value } of points()) {
        if (kind === 'counter' && last.get(labels) === value) continue
        last.set(labels, value)
        result.observe(value, labels)
      }
    })
  }
}
