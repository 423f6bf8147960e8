// Slow requests as spans of OpenTelemetry. A span is made once its request is over, so a request
// that is not slow costs nothing. The SDK is loaded with the first slow request.
import type { SlowRequest } from '../rpc/meter.ts'
import { lastPush } from './last-push.ts'

/** Spans that wait until the SDK is loaded; further ones are dropped. */
const LOADING_SPANS_MAX = 2_048

/** What takes slow requests. */
export interface SlowSpans {
  /** Sends a request that is over now. */
  readonly record: (request: SlowRequest) => void
  /** Sends what is not sent yet, for at most two seconds; nothing is taken after that. */
  readonly shutdown: () => Promise<void>
}

/** Makes spans for the collector of the variables OTEL_EXPORTER_OTLP_*. */
export function slowSpans(version: string, report: (e: unknown) => void): SlowSpans {
  type Export = Awaited<ReturnType<typeof import('./span-export.ts').openSpanExport>>
  let opened: Promise<Export> | undefined
  let waiting = 0
  let ended = false
  return {
    record(request) {
      if (ended || waiting >= LOADING_SPANS_MAX) return
      const at = Date.now()
      waiting++
      opened ??= import('./span-export.ts').then(({ openSpanExport }) => openSpanExport(version, report))
      void opened
        .then(({ send }) => send(request, at))
        .catch(report)
        .finally(() => waiting--)
    },
    async shutdown() {
      ended = true
      // A collector that is gone does not keep a node from stopping. What could not be opened is
      // reported already.
      await opened?.then(
        ({ shutdown }) => lastPush('spans', shutdown(), report),
        () => undefined,
      )
    },
  }
}
