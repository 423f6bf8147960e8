// The metrics of a running node, recorded and served if the settings enable them, and the spans of
// its slow requests.
import type { Settings } from '../config/index.ts'
import type { Mode } from '../core/config.ts'
import { metricsCatalog } from '../core/native.ts'
import type { Core } from '../core/port.ts'
import { createMetrics, type Watching } from '../metrics/index.ts'
import { type SlowSpans, slowSpans } from '../metrics/spans.ts'
import { VERSION } from '../node/version.ts'
import { NO_METER, type RequestMeter } from '../rpc/meter.ts'
import { NotOpen, type Readiness, startMetricsServer } from '../server/index.ts'

const lowerCase = (words: readonly string[]): string[] => words.map((word) => word.toLowerCase())

/**
 * Milliseconds from the start of a node until the SDK is loaded, which takes longer than the rest
 * of the start; a page loads it before.
 */
const SDK_DELAY_MS = 2_000

/** The inputs of a node's metrics, and the address of their page. */
export interface NodeMetrics {
  readonly meter: RequestMeter
  /** Reads the watched instruments for each page from now on; `read` does not reject. */
  readonly watch: (read: () => Promise<Watching>) => void
  /** The scrape page; undefined where there is none. */
  readonly url: string | undefined
  /** What sends slow requests as spans; undefined where that is off. */
  readonly spans: SlowSpans | undefined
  stop(): Promise<void>
}

const off = (spans: SlowSpans | undefined): NodeMetrics => ({
  meter: { ...NO_METER, now: () => performance.now() },
  watch: () => undefined,
  url: undefined,
  spans,
  stop: async () => spans?.shutdown(),
})

/**
 * Starts to record and opens the scrape listener if there is one; the page is available once `core`
 * has the core. Rejects with `ListenError` if the port is not available.
 */
export async function startMetrics(
  core: () => Core | undefined,
  mode: Mode,
  settings: Settings,
  readiness: Readiness,
  report: (e: unknown) => void,
): Promise<NodeMetrics> {
  const spans = settings['evm.slow_request_traces'] ? slowSpans(VERSION, report) : undefined
  if (!settings['metrics.enabled'] && !settings['metrics.otlp']) return off(spans)
  const opened = (): Core => {
    const open = core()
    if (open === undefined) throw new NotOpen('node is starting')
    return open
  }
  const native = {
    get catalog() {
      return metricsCatalog()
    },
    snapshot: () => opened().metricsSnapshot(),
  }
  const metrics = createMetrics(native, {
    legacy: settings['metrics.legacy'],
    mode,
    version: VERSION,
    otlp: settings['metrics.otlp'],
    report,
  })
  const place = {
    host: settings['metrics.host'],
    port: settings['metrics.port'],
    setting: 'metrics.port',
    allowedHosts: lowerCase(settings['evm.allowed_hosts']),
  }
  const scrape: typeof metrics.scrape = async (accept) => {
    opened()
    return await metrics.scrape(accept)
  }
  // Without a page there may be a push.
  const server = settings['metrics.enabled'] ? await startMetricsServer(place, scrape, report, readiness) : undefined
  const loading = setTimeout(() => void metrics.open().catch(report), SDK_DELAY_MS).unref()
  return {
    meter: metrics,
    watch: metrics.watch,
    url: server?.url,
    spans,
    async stop() {
      clearTimeout(loading)
      await server?.stop()
      await Promise.all([metrics.shutdown(), spans?.shutdown()])
    },
  }
}
