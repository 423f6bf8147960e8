// The Hono app of a listener of JSON-RPC: every route of it.
import type { IncomingMessage } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, Hono } from 'hono'
import type { Authentication } from './admission/auth.ts'
import { declaredLength } from './body.ts'
import { givenHost, hostOf } from './hosts.ts'
import { type AppEnv, closing, cors, hosts, INVALID_HOST, inOrder, type Step, tokens } from './middleware.ts'
import { isPageRequest } from './pages/route.ts'
import { addProbes, type Readiness } from './readiness.ts'
import { discardBody, refuse } from './refuse.ts'
import { endShort } from './respond.ts'
import { dispatchedBefore, jsonBodies, jsonRpc, type RpcOptions } from './rpc-route.ts'

/** What the HTTP side needs to know. */
export interface AppOptions extends RpcOptions {
  /** The authentication of the listener; undefined for none. */
  readonly authentication?: Authentication | undefined
  readonly corsOrigins: readonly string[]
  /** Allowed host names of the node, lower case. */
  readonly allowedHosts: readonly string[]
  /** What GET / answers. */
  readonly about: string
  /** The answers to probes; undefined if the listener has none. */
  readonly readiness?: Readiness | undefined
  /** The app of the explorer's pages; undefined where they are off. */
  readonly pages?: (() => Promise<Hono<AppEnv>>) | undefined
  /**
   * The port of the explorer, whose page may read answers of this listener too; undefined where
   * that is the same listener, or there is none.
   */
  readonly explorerPort?: (() => number | undefined) | undefined
}

/** Answers any request with a refusal in plain text. */
const refusal =
  (writeMs: number, status: number, message: string) =>
  (c: Context<AppEnv>): Response => {
    refuse(c.env.incoming, c.env.outgoing, writeMs, status, message)
    return RESPONSE_ALREADY_SENT
  }

/**
 * Origins whose pages may read an answer: those of the settings, and the explorer of the same
 * host.
 */
const originsFor =
  ({ corsOrigins, explorerPort }: AppOptions) =>
  (request: IncomingMessage): readonly string[] => {
    const port = explorerPort?.()
    const host = port === undefined || corsOrigins.includes('*') ? undefined : hostOf(givenHost(request) ?? '')
    return host === undefined ? corsOrigins : [...corsOrigins, `http://${host.includes(':') ? `[${host}]` : host}:${port}`]
  }

/** `GET /`, which health checks of load balancers send too. */
const about =
  ({ about, pages, writeMs }: AppOptions, notAllowed: (c: Context<AppEnv>) => Response) =>
  (c: Context<AppEnv>): Response => {
    const { incoming, outgoing } = c.env
    const { method, headers, url } = incoming
    if (method !== 'GET' || declaredLength(incoming) || headers['transfer-encoding'] || url !== '/') return notAllowed(c)
    outgoing.setHeader('content-type', 'text/plain; charset=utf-8')
    if (pages !== undefined) outgoing.appendHeader('vary', 'accept')
    endShort(outgoing, writeMs, about)
    return RESPONSE_ALREADY_SENT
  }

/** The steps before the explorer and before JSON-RPC: only a request for this node passes. */
const welcome = ({ allowedHosts, readiness, writeMs }: AppOptions): Step[] => [
  closing(readiness),
  hosts(allowedHosts, refusal(writeMs, 403, INVALID_HOST)),
]

/** Answers requests for the explorer's pages; others continue. */
function explorer(options: AppOptions): Step {
  const { pages } = options
  if (pages === undefined) return (_, next) => next()
  const serve = inOrder(welcome(options), async (c) => (await pages()).fetch(c.req.raw, c.env))
  return (c, next) => (isPageRequest(c.env.incoming) ? serve(c) : next())
}

/** Makes the app. */
export function createApp(options: AppOptions): Hono<AppEnv> {
  const { authentication, readiness, report, writeMs } = options
  const app = new Hono<AppEnv>()
  const pages = explorer(options)
  const rpc = inOrder([dispatchedBefore(options), jsonBodies(options), tokens(authentication, writeMs)], jsonRpc(options))
  const others = about(options, refusal(writeMs, 405, 'method not allowed'))
  app.all(
    '/',
    inOrder([pages, ...welcome(options), cors(originsFor(options), writeMs)], (c) =>
      c.env.incoming.method === 'POST' ? rpc(c) : others(c),
    ),
  )
  if (readiness !== undefined) addProbes(app, readiness)
  app.notFound(
    inOrder([pages], (c) => {
      discardBody(c.env.incoming)
      return c.text('not found: JSON-RPC is at /\n', 404)
    }),
  )
  app.onError((e, c) => {
    report(e)
    if (!c.env.outgoing.headersSent) return c.text('internal error\n', 500)
    c.env.outgoing.destroy()
    return RESPONSE_ALREADY_SENT
  })
  return app
}
