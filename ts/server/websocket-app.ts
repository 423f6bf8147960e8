// The Hono app of the listener of WebSocket alone: what a request without an upgrade is answered.
import { Hono } from 'hono'
import { type AppEnv, discarding } from './middleware.ts'

const HEADERS = { upgrade: 'websocket', connection: 'close', 'content-type': 'text/plain' }

/** Makes the app. */
export const createWebSocketApp = (): Hono<AppEnv> =>
  new Hono<AppEnv>().use(discarding).all('*', (c) => c.body('this port speaks WebSocket alone\n', 426, HEADERS))
