// The OpenTelemetry provider over metrics that are kept elsewhere.
import { emptyResource } from '@opentelemetry/resources'
import {
  type CollectionResult,
  MeterProvider,
  type MetricProducer,
  MetricReader,
  type ResourceMetrics,
  type ScopeMetrics,
} from '@opentelemetry/sdk-metrics'

/** Collects on demand; there is nothing to flush and nothing to stop. */
class ScrapeReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

/** A provider with its reader. */
export interface Provider {
  readonly collect: () => Promise<ResourceMetrics>
  readonly shutdown: () => Promise<void>
}

/** Makes a provider; `collect` gives the values of a moment. */
export function createProvider(collect: () => ScopeMetrics[]): Provider {
  const producer: MetricProducer = {
    async collect(): Promise<CollectionResult> {
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics: collect() }, errors: [] }
    },
  }
  const reader = new ScrapeReader({ metricProducers: [producer] })
  const provider = new MeterProvider({ readers: [reader] })
  return { collect: async () => (await reader.collect()).resourceMetrics, shutdown: () => provider.shutdown() }
}
