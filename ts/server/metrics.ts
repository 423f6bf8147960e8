// The listener of the scrape page.
import type { Scraper } from '../metrics/index.ts'
import { createServer } from './connections.ts'
import { lazyApp } from './lazy.ts'
import { KEEP_ALIVE_MS, METRICS_CONNECTIONS_MAX, REQUEST_READ_MS_MAX, STOP_MS_MAX } from './limits.ts'
import { listen, shownHost, stopListener } from './listener.ts'
import type { Readiness } from './readiness.ts'

/** A scrape page that is served. */
export interface MetricsServer {
  /** Where the page is. */
  readonly url: string
  stop(): Promise<void>
}

/** There is nothing to scrape yet: the node opens its stores. */
export class NotOpen extends Error {
  override name = 'NotOpen'
}

/** Where a page is served, and the setting that says so. */
export interface MetricsPlace {
  readonly host: string
  readonly port: number
  readonly setting: string
  /**
   * Allowed host names of the page, lower case; by default only `localhost`. Addresses are always
   * allowed.
   */
  readonly allowedHosts?: readonly string[]
}

/** Opens the listener. */
export async function startMetricsServer(
  { host, port: wanted, setting, allowedHosts = ['localhost'] }: MetricsPlace,
  scrape: Scraper['scrape'],
  report: (e: unknown) => void,
  readiness?: Readiness,
): Promise<MetricsServer> {
  const timeouts = { requestTimeout: REQUEST_READ_MS_MAX, headersTimeout: REQUEST_READ_MS_MAX, keepAliveTimeout: KEEP_ALIVE_MS }
  const load = async () => {
    const [{ createMetricsApp, pageHosts }, { discarding }] = await Promise.all([import('./metrics-app.ts'), import('./middleware.ts')])
    return createMetricsApp(scrape, report, readiness, discarding, pageHosts(allowedHosts))
  }
  const server = createServer(timeouts, lazyApp(load, report))
  server.maxConnections = METRICS_CONNECTIONS_MAX
  // A page is short work: a connection on which nothing moves has a client that does not read.
  server.timeout = REQUEST_READ_MS_MAX
  const port = await listen(server, host, wanted, setting)
  return { url: `http://${shownHost(host)}:${port}/metrics`, stop: () => stopListener(server, STOP_MS_MAX) }
}
