// The OpenTelemetry provider over metrics that are kept elsewhere, and the pages made of it.
import { emptyResource } from '@opentelemetry/resources'
import { type CollectionResult, MeterProvider, type MetricProducer, MetricReader, type ScopeMetrics } from '@opentelemetry/sdk-metrics'
import { CONTENT_TYPES, Exposition, type Format, negotiateFormat } from './exposition.ts'
import type { Interval } from './series.ts'
import type { Instrument } from './table.ts'

/** A page for a client. */
export interface Page {
  readonly contentType: string
  readonly body: Uint8Array<ArrayBuffer>
}

/** What makes pages. */
export interface Scraper {
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

/** Pages of instruments; `collect` gives their values of a moment. */
export function createScraper(instruments: readonly Instrument[], collect: (interval: Interval) => ScopeMetrics[]): Scraper {
  const began = hrTime(Date.now())
  const producer: MetricProducer = {
    async collect(): Promise<CollectionResult> {
      const scopeMetrics = collect({ startTime: began, endTime: hrTime(Date.now()) })
      return { resourceMetrics: { resource: emptyResource(), scopeMetrics }, errors: [] }
    },
  }
  const reader = new ScrapeReader({ metricProducers: [producer] })
  const provider = new MeterProvider({ readers: [reader] })
  const pages: Record<Format, Exposition> = {
    prometheus: new Exposition('prometheus', instruments),
    openmetrics: new Exposition('openmetrics', instruments),
  }
  return {
    async scrape(accept) {
      const format = negotiateFormat(accept)
      const { resourceMetrics } = await reader.collect()
      return { contentType: CONTENT_TYPES[format], body: pages[format].page(resourceMetrics) }
    },
    shutdown: () => provider.shutdown(),
  }
}
