// The listener of the scrape page.
import http from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import type { Scraper } from '../metrics/index.ts'
import { KEEP_ALIVE_MS, METRICS_CONNECTIONS_MAX, REQUEST_READ_MS_MAX, STOP_MS_MAX } from './limits.ts'
import { listen, shownHost, stopListener } from './listener.ts'
import { addProbes, type Readiness } from './readiness.ts'

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

/** The app with its routes. Failures are told to `report` and answered with 500. */
export function createMetricsApp(scrape: Scraper['scrape'], report: (e: unknown) => void, readiness?: Readiness): Hono {
  const app = new Hono()
  if (readiness !== undefined) addProbes(app, readiness)
  app.get('/metrics', async (c) => {
    const { contentType, body } = await scrape(c.req.header('accept'))
    return c.body(body, 200, { 'content-type': contentType, vary: 'accept' })
  })
  app.all('/metrics', (c) => c.text('method not allowed\n', 405, { allow: 'GET, HEAD' }))
  app.notFound((c) => c.text('not found: metrics are at /metrics\n', 404))
  app.onError((e, c) => {
    if (e instanceof NotOpen) return c.text(`${e.message}\n`, 503)
    report(e)
    return c.text('internal error\n', 500)
  })
  return app
}

/** Where a page is served, and the setting that says so. */
export interface MetricsPlace {
  readonly host: string
  readonly port: number
  readonly setting: string
}

/** Opens the listener. */
export async function startMetricsServer(
  { host, port: wanted, setting }: MetricsPlace,
  scrape: Scraper['scrape'],
  report: (e: unknown) => void,
  readiness?: Readiness,
): Promise<MetricsServer> {
  const timeouts = { requestTimeout: REQUEST_READ_MS_MAX, headersTimeout: REQUEST_READ_MS_MAX, keepAliveTimeout: KEEP_ALIVE_MS }
  const server = http.createServer(timeouts, getRequestListener(createMetricsApp(scrape, report, readiness).fetch))
  server.maxConnections = METRICS_CONNECTIONS_MAX
  const port = await listen(server, host, wanted, setting)
  return { url: `http://${shownHost(host)}:${port}/metrics`, stop: () => stopListener(server, STOP_MS_MAX) }
}
