// The Hono app of the scrape listener.
import { Hono, type MiddlewareHandler } from 'hono'
import type { Scraper } from '../metrics/index.ts'
import { NotOpen } from './metrics.ts'
import { type AppEnv, hosts, INVALID_HOST, middleware } from './middleware.ts'
import { addProbes, type Readiness } from './readiness.ts'

/** Lets requests pass for names of the page: those that are allowed, lower case, and addresses. */
export const pageHosts = (allowed: readonly string[]): MiddlewareHandler<AppEnv> =>
  middleware(hosts(allowed, (c) => c.text(`${INVALID_HOST}\n`, 403)))

/**
 * The app with its routes; `before` is what each request passes first. `report` gets failures,
 * which are answered with 500.
 */
export function createMetricsApp(
  scrape: Scraper['scrape'],
  report: (e: unknown) => void,
  readiness?: Readiness,
  ...before: MiddlewareHandler<AppEnv>[]
): Hono<AppEnv> {
  const app = new Hono<AppEnv>()
  for (const pass of before) app.use(pass)
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
