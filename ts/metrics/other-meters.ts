// Metrics of other meters of this process on the scrape page, by the serializer of the Prometheus
// exporter. It writes no OpenMetrics: with such metrics the page is in Prometheus's text format.
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import type { ResourceMetrics, ScopeMetrics } from '@opentelemetry/sdk-metrics'

/** A page with further metrics behind its own. */
export function withOtherMeters(page: Uint8Array, all: ResourceMetrics, others: readonly ScopeMetrics[]): Uint8Array<ArrayBuffer> {
  const serializer = new PrometheusSerializer('', false, undefined, true, false)
  return Buffer.concat([page, Buffer.from(serializer.serialize({ ...all, scopeMetrics: [...others] }))])
}
