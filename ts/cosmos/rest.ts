// REST: paths of the Cosmos SDK's gateways, answers in JSON.
import type { IncomingMessage, RequestListener } from 'node:http'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { CoreError } from '../core/error.ts'
import { applyCors } from '../server/cors.ts'
import { isAllowedHost } from '../server/hosts.ts'
import { CHALLENGE } from '../server/unauthorized.ts'
import { type Answers, HEIGHT_HEADER, heightOf, type Params } from './answers.ts'
import { CODES, invalid, notImplemented, QueryFailure, statusOf } from './failure.ts'
import type { Gate } from './gate.ts'
import { type CosmosMeter, QUERIES, type Query, UNKNOWN_QUERY } from './queries.ts'

/** What the listener needs to know. */
export interface RestOptions {
  readonly answers: Answers
  readonly gate: Gate
  readonly meter: CosmosMeter
  readonly corsOrigins: readonly string[]
  readonly allowedHosts: readonly string[]
  readonly maxBodyBytes: number
  /** Takes failures that are defects of this program. */
  readonly report: (e: unknown) => void
}

type Env = { Bindings: HttpBindings }

/** Parameters of a query string: text, or a list of texts where one is repeated. */
function queryParams(url: string): Params {
  const params: Record<string, string | string[]> = {}
  for (const [name, value] of new URL(url).searchParams) {
    const known = params[name]
    params[name] = known === undefined ? value : [...(typeof known === 'string' ? [known] : known), value]
  }
  return params
}

/** Parameters of a body of JSON: its members that are text. */
async function bodyParams(c: Context<Env>): Promise<Params> {
  let body: unknown
  try {
    body = JSON.parse(await c.req.text())
  } catch (e) {
    if (e instanceof SyntaxError) throw invalid('the body is not JSON')
    throw e
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid('the body has to be an object')
  return Object.fromEntries(Object.entries(body).filter(([, value]) => typeof value === 'string'))
}

/** A failure of a query; any other error goes to `report` and is hidden. */
function failureOf(e: unknown, report: RestOptions['report']): QueryFailure {
  if (e instanceof QueryFailure) return e
  if (e instanceof CoreError && e.kind === 'busy') return new QueryFailure(CODES.resourceExhausted, e.public ?? e.message)
  report(e)
  return new QueryFailure(CODES.internal, 'internal error')
}

/** A failure as the gateways of the SDK write it. */
function failed(c: Context<Env>, { code, message, height }: QueryFailure): Response {
  const headers: Record<string, string> = {}
  if (height !== undefined) headers[HEIGHT_HEADER] = height
  if (code === CODES.unauthenticated) headers['www-authenticate'] = CHALLENGE
  return c.json({ code, message, details: [] }, statusOf(code) as 400, headers)
}

/** The path of a query as Hono writes it. */
const honoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1')

/** Makes what serves REST. */
export function createRest(options: RestOptions): RequestListener {
  const { answers, gate, meter, report } = options
  const app = new Hono<Env>()
  const serve = (query: Query | undefined, read: (c: Context<Env>) => Promise<Params> | Params) => {
    const name = query?.name ?? UNKNOWN_QUERY
    return async (c: Context<Env>): Promise<Response> => {
      try {
        gate.check(gate.clientOf(c.env.incoming), c.req.header('authorization'))
        if (query === undefined) throw notImplemented()
        const { body, height } = await answers.json(query, await read(c), heightOf(c.req.header(HEIGHT_HEADER)))
        meter.query('rest', name, CODES.ok)
        return c.body(new Uint8Array(body), 200, {
          'content-type': 'application/json',
          ...(height === undefined ? {} : { [HEIGHT_HEADER]: height }),
        })
      } catch (e) {
        const failure = failureOf(e, report)
        meter.query('rest', name, failure.code)
        return failed(c, failure)
      }
    }
  }
  const limit = bodyLimit({
    maxSize: options.maxBodyBytes,
    onError: (c) =>
      c.json({ code: CODES.invalidArgument, message: `the body has more than ${options.maxBodyBytes} bytes`, details: [] }, 413),
  })
  for (const query of QUERIES) {
    for (const path of query.get ?? [])
      app.get(
        honoPath(path),
        serve(query, (c) => ({ ...queryParams(c.req.url), ...c.req.param() })),
      )
    if (query.post !== undefined) app.post(query.post, limit, serve(query, bodyParams))
  }
  app.all(
    '*',
    serve(undefined, () => ({})),
  )
  const listener = getRequestListener(app.fetch)
  return (request: IncomingMessage, response) => {
    if (!isAllowedHost(options.allowedHosts, request.headers.host)) {
      const body = JSON.stringify({ code: 7, message: 'invalid host specified (evm.allowed_hosts)', details: [] })
      response.writeHead(403, { 'content-type': 'application/json' }).end(body)
    } else if (applyCors(options.corsOrigins, request, response)) response.writeHead(204).end()
    else void listener(request, response)
  }
}
