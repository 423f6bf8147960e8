// The Hono app of the scrape listener.
import { Hono } from 'hono'
import type { Scraper } from '../metrics/index.ts'
import { NotOpen } from './metrics.ts'
import { addProbes, type Readiness } from './readiness.ts'

/** The app with its routes. `report` gets failures, which are answered with 500. */
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
