// The Hono app of the JSON-RPC listener: every route of the node.
import type { RequestListener } from 'node:http'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import { addProbes, type Readiness } from './readiness.ts'

/**
 * The handler of the routes; `root` serves JSON-RPC on the raw request and response, since bodies
 * and answers are bytes.
 */
export function createRoutes(root: RequestListener, readiness: Readiness | undefined): RequestListener {
  const app = new Hono<{ Bindings: HttpBindings }>()
  app.all('/', (c) => {
    root(c.env.incoming, c.env.outgoing)
    return RESPONSE_ALREADY_SENT
  })
  if (readiness !== undefined) addProbes(app, readiness)
  app.notFound((c) => c.text('not found: JSON-RPC is at /\n', 404))
  const listener = getRequestListener(app.fetch)
  return (request, response) => void listener(request, response)
}
