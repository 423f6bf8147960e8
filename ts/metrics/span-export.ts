// Spans of slow requests, sent by OTLP over HTTP. Attributes have the names of OpenTelemetry's
// conventions for JSON-RPC (opentelemetry.io/docs/specs/semconv/rpc/json-rpc), which have none for
// the bytes of a result.
import { SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { SpanExporter } from '@opentelemetry/sdk-trace'
import { SHOWN_CHARACTERS_MAX, type SlowRequest } from '../rpc/meter.ts'
import { reportFailures } from './otlp.ts'
import { otlpProtocol } from './otlp-protocol.ts'
import { resourceOf } from './resource.ts'

/** Name of the tracer, which is that of the meter of requests. */
const SCOPE = 'evmrpc'

/** Spans that wait for the next push; further ones are dropped. */
const QUEUE_SPANS_MAX = 2_048

/** Milliseconds between two pushes. */
const INTERVAL_MS = 5_000

async function exporter(): Promise<SpanExporter> {
  // Not part of the program's one file: they are large, and few nodes push.
  if (otlpProtocol('TRACES') === 'http/json') return new (await import('@opentelemetry/exporter-trace-otlp-http')).OTLPTraceExporter()
  return new (await import('@opentelemetry/exporter-trace-otlp-proto')).OTLPTraceExporter()
}

/** Opens the push. */
export async function openSpanExport(version: string, report: (e: unknown) => void) {
  reportFailures(report)
  const { BatchSpanProcessor, TracerProvider } = await import('@opentelemetry/sdk-trace')
  const processor = new BatchSpanProcessor({
    exporter: await exporter(),
    maxQueueSize: QUEUE_SPANS_MAX,
    scheduledDelayMillis: INTERVAL_MS,
  })
  const provider = new TracerProvider({ resource: resourceOf(version), spanProcessors: [processor] })
  const tracer = provider.getTracer(SCOPE, version)
  return {
    /** Sends a request that was over at a time, in milliseconds since 1970. */
    send({ method, connection, client, ms, bytes, errorClass }: SlowRequest, ended: number): void {
      const name = method?.slice(0, SHOWN_CHARACTERS_MAX)
      const span = tracer.startSpan(name ?? 'invalid', {
        kind: SpanKind.SERVER,
        root: true,
        startTime: new Date(ended - ms),
        attributes: {
          'rpc.system.name': 'jsonrpc',
          ...(name === undefined ? {} : { 'rpc.method': name }),
          'network.protocol.name': connection,
          ...(client === undefined ? {} : { 'client.address': client }),
          'hearth.result_bytes': bytes,
          ...(errorClass === '' ? {} : { 'error.type': errorClass }),
        },
      })
      if (errorClass !== '') span.setStatus({ code: SpanStatusCode.ERROR })
      span.end(new Date(ended))
    },
    shutdown: () => provider.shutdown(),
  }
}
