// The push of metrics by OTLP over HTTP, in protobuf or JSON. The exporter reads the variables
// OTEL_EXPORTER_OTLP_* (opentelemetry.io/docs/specs/otel/protocol/exporter): endpoint, headers,
// timeout, compression and certificates.
import { DiagLogLevel, diag } from '@opentelemetry/api'
import { type MetricProducer, PeriodicExportingMetricReader, type PushMetricExporter } from '@opentelemetry/sdk-metrics'
import { PushError } from './last-push.ts'
import { otlpProtocol } from './otlp-protocol.ts'

/** Milliseconds between two pushes, unless OTEL_METRIC_EXPORT_INTERVAL has another number. */
const INTERVAL_MS = 60_000

/** Milliseconds that a push may take, unless OTEL_METRIC_EXPORT_TIMEOUT has another number. */
const TIMEOUT_MS = 30_000

/** A number of milliseconds in a variable; the default where it is unset or no such number. */
function milliseconds(name: string, byDefault: number): number {
  const value = Number(process.env[name] || byDefault)
  return Number.isFinite(value) && value > 0 ? value : byDefault
}

async function exporter(): Promise<PushMetricExporter> {
  // Not part of the program's one file: they are large, and few nodes push.
  if (otlpProtocol('METRICS') === 'http/json') return new (await import('@opentelemetry/exporter-metrics-otlp-http')).OTLPMetricExporter()
  return new (await import('@opentelemetry/exporter-metrics-otlp-proto')).OTLPMetricExporter()
}

/** Makes the reader that pushes what the SDK and a producer have. */
export async function otlpReader(producer: MetricProducer): Promise<PeriodicExportingMetricReader> {
  const exportIntervalMillis = milliseconds('OTEL_METRIC_EXPORT_INTERVAL', INTERVAL_MS)
  return new PeriodicExportingMetricReader({
    exporter: await exporter(),
    exportIntervalMillis,
    exportTimeoutMillis: Math.min(milliseconds('OTEL_METRIC_EXPORT_TIMEOUT', TIMEOUT_MS), exportIntervalMillis),
    metricProducers: [producer],
  })
}

/** The message of an error that the SDK wrote as JSON; other text as it is. */
function messageOf(text: string): string {
  try {
    const { message } = JSON.parse(text) as { readonly message?: unknown }
    return typeof message === 'string' ? message : text
  } catch {
    return text
  }
}

/** Reports what the SDK complains of, such as pushes that the collector does not take. */
export function reportFailures(report: (e: unknown) => void): void {
  const failed = (text: string): void => report(new PushError(messageOf(text)))
  const ignore = (): void => undefined
  const logger = { error: failed, warn: failed, info: ignore, debug: ignore, verbose: ignore }
  // Pushes of metrics and of spans report to the same log.
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}
