// Listeners whose app is made with the first request that needs it, so that Hono does not slow down
// the start.
import type { RequestListener } from 'node:http'
import type { Hono } from 'hono'
import { givesUrl, hideHost } from './hosts.ts'
import type { AppEnv } from './middleware.ts'

/** Where the URL of a request has no host of its own. Routes look at paths alone. */
const HOSTNAME = 'localhost'

/**
 * What serves an app, which is loaded with the first request. A request that comes while it loads
 * waits.
 */
export function lazyApp(load: () => Promise<Hono<AppEnv>>, report: (e: unknown) => void): RequestListener {
  let listener: RequestListener | undefined
  let loading: Promise<RequestListener> | undefined
  const begin = async (): Promise<RequestListener> => {
    const [app, { getRequestListener }] = await Promise.all([load(), import('@hono/node-server')])
    // Bodies that no route reads are discarded by the routes, within a bound.
    const serve = getRequestListener(app.fetch, { hostname: HOSTNAME, autoCleanupIncoming: false })
    listener = (request, response) => {
      if (!givesUrl(request.headers.host)) hideHost(request)
      void serve(request, response)
    }
    return listener
  }
  return (request, response) => {
    if (listener !== undefined) return listener(request, response)
    loading ??= begin()
    loading.then(
      (loaded) => loaded(request, response),
      (e: unknown) => {
        loading = undefined
        report(e)
        response.destroy()
      },
    )
  }
}
