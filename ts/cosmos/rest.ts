// REST: paths of the Cosmos SDK's gateways, answers in JSON.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { CoreError } from '../core/error.ts'
import { declaredLength } from '../server/body.ts'
import { isAllowedHost } from '../server/hosts.ts'
import { type AppEnv, cors, discarding, hosts, INVALID_HOST, middleware } from '../server/middleware.ts'
import { CHALLENGE } from '../server/unauthorized.ts'
import { type Answer, type Answers, HEIGHT_HEADER, heightOf, type Params } from './answers.ts'
import { CODES, invalid, notImplemented, QueryFailure, statusOf } from './failure.ts'
import type { Gate } from './gate.ts'
import { type CosmosMeter, countQuery, QUERIES, type Query, UNKNOWN_QUERY } from './queries.ts'

/** What the listener needs to know. */
export interface RestOptions {
  readonly answers: Answers
  readonly gate: Gate
  readonly meter: CosmosMeter
  readonly corsOrigins: readonly string[]
  readonly allowedHosts: readonly string[]
  readonly maxBodyBytes: number
  /** A client that takes nothing of an answer for this long is cut off, in milliseconds. */
  readonly writeMs: number
  /** Takes failures that are defects of this program. */
  readonly report: (e: unknown) => void
}

/** Parameters of a query string: text, or a list of texts where one is repeated. */
function queryParams(url: string): Params {
  // Without a prototype: `constructor` is a name as any other.
  const params = Object.create(null) as Record<string, string | string[]>
  for (const [name, value] of new URL(url).searchParams) {
    const known = params[name]
    params[name] = known === undefined ? value : [...(typeof known === 'string' ? [known] : known), value]
  }
  return params
}

/**
 * Parameters of a body of JSON: its members that are text, and numbers, which may stand for the
 * names of enums (https://protobuf.dev/programming-guides/json).
 */
async function bodyParams(c: Context<AppEnv>): Promise<Params> {
  let body: unknown
  try {
    body = JSON.parse(await c.req.text())
  } catch (e) {
    if (e instanceof SyntaxError) throw invalid('the body is not JSON')
    throw e
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) throw invalid('the body has to be an object')
  const members = Object.entries(body).filter(([, value]) => typeof value === 'string' || typeof value === 'number')
  return Object.fromEntries(members.map(([name, value]) => [name, String(value)]))
}

/** A failure of a query; any other error goes to `report` and is hidden. */
function failureOf(e: unknown, report: RestOptions['report']): QueryFailure {
  if (e instanceof QueryFailure) return e
  if (e instanceof CoreError && e.kind === 'busy') return new QueryFailure(CODES.resourceExhausted, e.public ?? e.message)
  report(e)
  return new QueryFailure(CODES.internal, 'internal error')
}

/** An answer or a failure as it goes over HTTP. */
interface Written {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string | Uint8Array<ArrayBuffer>
}

const JSON_TYPE = { 'content-type': 'application/json' }

const written = ({ body, height }: Answer): Written => ({
  status: 200,
  headers: height === undefined ? JSON_TYPE : { ...JSON_TYPE, [HEIGHT_HEADER]: height },
  body: typeof body === 'string' ? body : new Uint8Array(body),
})

/** A failure as the gateways of the SDK write it. */
function failed({ code, message, height }: QueryFailure): Written {
  const headers: Record<string, string> = { ...JSON_TYPE }
  if (height !== undefined) headers[HEIGHT_HEADER] = height
  if (code === CODES.unauthenticated) headers['www-authenticate'] = CHALLENGE
  return { status: statusOf(code), headers, body: JSON.stringify({ code, message, details: [] }) }
}

/** The code of gRPC. */
const PERMISSION_DENIED = 7

/** The answer to a request under another name than the node's. */
const FORBIDDEN: Written = {
  status: 403,
  headers: JSON_TYPE,
  body: JSON.stringify({ code: PERMISSION_DENIED, message: INVALID_HOST, details: [] }),
}

const toHono = (c: Context<AppEnv>, { status, headers, body }: Written): Response => c.body(body, status as 200, headers)

/** A GET as its URL says it. */
interface Routed {
  readonly query: Query
  readonly params: Params
}

/**
 * GETs by URL that were routed before: the next one is answered without Hono, whose context and
 * promises take longer than the core.
 */
class RoutedBefore {
  private readonly byUrl = new Map<string, Routed>()

  /** That of a request without a body, a height or a web page's origin. */
  get({ method, url, headers }: IncomingMessage): Routed | undefined {
    if (method !== 'GET' || headers.origin !== undefined || headers[HEIGHT_HEADER] !== undefined) return undefined
    const isShort = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined
    return isShort ? this.byUrl.get(url as string) : undefined
  }

  /** Keeps one; the oldest goes where there are too many. */
  keep({ url }: IncomingMessage, routed: Routed): Params {
    if (url !== undefined && url.length <= KEPT_URL_MAX) {
      const [oldest] = this.byUrl.keys()
      if (this.byUrl.size >= KEPT_URLS_MAX && oldest !== undefined) this.byUrl.delete(oldest)
      this.byUrl.set(url, routed)
    }
    return routed.params
  }
}

/** URLs that are kept, and the length of the longest, in characters. */
const [KEPT_URLS_MAX, KEPT_URL_MAX] = [256, 512]

/**
 * The path of a query as Hono writes it. A part may be empty, as in gateways of the SDK: the query
 * says which address is missing.
 */
const honoPath = (path: string): string => path.replaceAll(/\{(\w+)\}/g, ':$1{[^/]*}')

/** Answers a GET that was routed before. */
function answerAgain(options: RestOptions, { query, params }: Routed, request: IncomingMessage, response: ServerResponse): void {
  const { answers, gate, meter, report } = options
  const end = (code: number, { status, headers, body }: Written): void => {
    countQuery(meter, 'rest', query.name, code)
    const lines: (string | number)[] = ['content-length', Buffer.byteLength(body)]
    for (const name in headers) lines.push(name, headers[name] as string)
    response.writeHead(status, lines as string[]).end(body)
  }
  const done = (answer: Answer): void => end(CODES.ok, written(answer))
  const fail = (e: unknown): void => {
    const failure = failureOf(e, report)
    end(failure.code, failed(failure))
  }
  try {
    const admitted = gate.check(gate.clientOf(request), request.headers.authorization)
    const answer =
      admitted instanceof Promise ? admitted.then(() => answers.json(query, params, undefined)) : answers.json(query, params, undefined)
    if (answer instanceof Promise) answer.then(done, fail)
    else done(answer)
  } catch (e) {
    fail(e)
  }
}

/** The app of REST, and the way around it. */
export interface Rest {
  readonly app: Hono<AppEnv>
  /** Answers a request as the app answered one with the same URL before; false where none was. */
  readonly serveAgain: (request: IncomingMessage, response: ServerResponse) => boolean
}

/** Makes the app of REST. */
export function createRest(options: RestOptions): Rest {
  const { answers, gate, meter, report } = options
  const app = new Hono<AppEnv>()
  const before = new RoutedBefore()
  const serve = (query: Query | undefined, read: (c: Context<AppEnv>) => Promise<Params> | Params) => {
    const name = query?.name ?? UNKNOWN_QUERY
    return async (c: Context<AppEnv>): Promise<Response> => {
      try {
        await gate.check(gate.clientOf(c.env.incoming), c.req.header('authorization'))
        if (query === undefined) throw notImplemented()
        const answer = await answers.json(query, await read(c), heightOf(c.req.header(HEIGHT_HEADER)))
        countQuery(meter, 'rest', name, CODES.ok)
        return toHono(c, written(answer))
      } catch (e) {
        const failure = failureOf(e, report)
        countQuery(meter, 'rest', name, failure.code)
        return toHono(c, failed(failure))
      }
    }
  }
  const limit = bodyLimit({
    maxSize: options.maxBodyBytes,
    onError: (c) =>
      c.json({ code: CODES.invalidArgument, message: `the body has more than ${options.maxBodyBytes} bytes`, details: [] }, 413),
  })
  /**
   * Bodies of all requests are within the bound of `evm.max_concurrent_request_bytes`, those of a
   * client within its share.
   */
  const room: MiddlewareHandler<AppEnv> = async (c, next) => {
    const { httpBytes, httpShares } = gate.admission
    const client = gate.clientOf(c.env.incoming)
    const bytes = Math.min(declaredLength(c.env.incoming) ?? options.maxBodyBytes, options.maxBodyBytes)
    const busy = (): Response => c.json({ code: CODES.resourceExhausted, message: 'server busy', details: [] }, 429)
    if (!httpShares.take(client, bytes)) return busy()
    try {
      if (!httpBytes.take(bytes)) return busy()
      try {
        await next()
      } finally {
        httpBytes.release(bytes)
      }
    } finally {
      httpShares.release(client, bytes)
    }
    return undefined
  }
  const checks = [hosts(options.allowedHosts, (c) => toHono(c, FORBIDDEN)), cors(() => options.corsOrigins, options.writeMs)]
  app.use(discarding)
  for (const check of checks) app.use(middleware(check))
  for (const query of QUERIES) {
    for (const path of query.get ?? [])
      app.get(
        honoPath(path),
        serve(query, (c) => {
          const params = answers.bounded({ ...queryParams(c.req.url), ...c.req.param() })
          return before.keep(c.env.incoming, { query, params })
        }),
      )
    if (query.post !== undefined)
      app.post(
        query.post,
        limit,
        room,
        serve(query, async (c) => answers.bounded(await bodyParams(c))),
      )
  }
  app.all(
    '*',
    serve(undefined, () => ({})),
  )
  const serveAgain = (request: IncomingMessage, response: ServerResponse): boolean => {
    const known = before.get(request)
    if (known === undefined || !isAllowedHost(options.allowedHosts, request.headers.host)) return false
    answerAgain(options, known, request, response)
    return true
  }
  return { app, serveAgain }
}
