// The Hono app of the listener of WebSocket alone: probes, and what any other request without an
// upgrade is answered.
import { Hono } from 'hono'
import { type AppEnv, discarding } from './middleware.ts'
import { addProbes, type Readiness } from './readiness.ts'

const HEADERS = { upgrade: 'websocket', connection: 'close', 'content-type': 'text/plain' }

/** Makes the app; without `readiness` it has no probes. */
export function createWebSocketApp(readiness: Readiness | undefined): Hono<AppEnv> {
  const app = new Hono<AppEnv>().use(discarding)
  if (readiness !== undefined) addProbes(app, readiness)
  return app.all('*', (c) => c.body('this port speaks WebSocket alone\n', 426, HEADERS))
}
