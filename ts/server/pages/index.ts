// Serves the explorer from memory: the page, its files, and the node's status. Loaded with the
// first request for any of them.
import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { type Context, type Handler, Hono } from 'hono'
import type { Authentication } from '../admission/auth.ts'
import type { Admission } from '../admission/index.ts'
import { givenHost, hostOf } from '../hosts.ts'
import type { IdleClock } from '../idle.ts'
import { type AppEnv, middleware, rate, tokens } from '../middleware.ts'
import { cutOffAfter } from '../respond.ts'
import { ArtifactRoutes, type ArtifactService } from './artifacts.ts'
import { type Asset, type Assets, NotBuilt, readAssets } from './assets.ts'
import { COMMON_HEADERS, contentPolicy } from './policy.ts'
import { ASSETS, IDENTIFY, pathOf, SOURCE, STATUS } from './route.ts'
import { Sampler, type StatusSource } from './status.ts'

/** What the explorer needs to know. */
export interface PageOptions {
  readonly admission: Admission
  /** What the listener requires of requests; undefined: nothing. */
  readonly authentication: Authentication | undefined
  /** Port of the listener of debug methods, where there is one. */
  readonly debugPort: () => number | undefined
  readonly source: StatusSource
  /** The artifacts that the node was given; undefined where it was given none. */
  readonly artifacts?: ArtifactService | undefined
  /** Refuses clients that send nothing of their body for too long. */
  readonly bodyIdle: IdleClock
  /** A client that takes nothing of an answer for this long is cut off, in milliseconds. */
  readonly writeMs: number
  /** Receives failures that no client learns. */
  readonly report: (e: unknown) => void
  /** In place of the files of the build. */
  readonly assets?: () => Assets
}

/** The explorer, served. */
export interface Pages {
  readonly app: Hono<AppEnv>
  /** Ends what runs in the background. */
  stop(): void
}

/** The namespace by whose rules the status is given: it says as much of a node as traces do. */
const NAMESPACE = 'debug'

/** What index.html has in place of the port of debug methods. */
const DEBUG_PORT_MARK = '{{DEBUG_PORT}}'

/** What index.html has in place of whether the node has artifacts. */
const ARTIFACTS_MARK = '{{ARTIFACTS}}'

/** What all paths begin with that are no page. */
const OWN_PATHS = '/_/'

const YEAR_S = 365 * 24 * 3600

/** Whether a client takes brotli (RFC 9110, section 12.5.3). */
const takes = (coding: string, header = ''): boolean =>
  header
    .toLowerCase()
    .split(',')
    .some((entry) => new RegExp(`^\\s*${coding}\\s*(;\\s*q\\s*=\\s*(?!0(\\.0*)?\\s*$)\\S+)?\\s*$`).test(entry))

/** What is sent of a file, and its encoding. */
function encoded({ plain, gzip, br }: Asset, accept: string | undefined): [Buffer, string | undefined] {
  if (br !== undefined && takes('br', accept)) return [br, 'br']
  return gzip !== undefined && takes('gzip', accept) ? [gzip, 'gzip'] : [plain, undefined]
}

/**
 * The origin of debug methods as a browser sees it that came under this host; undefined where they
 * are served with the rest.
 */
function debugOriginOf(request: IncomingMessage, port: number | undefined): string | undefined {
  const host = hostOf(givenHost(request) ?? '')
  if (port === undefined || host === undefined) return undefined
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

class Explorer {
  private readonly options: PageOptions
  private readonly sampler: Sampler
  private assets: Assets | undefined

  constructor(options: PageOptions) {
    this.options = options
    this.sampler = new Sampler(options.source)
  }

  stop(): void {
    this.sampler.stop()
  }

  private loaded(): Assets {
    this.assets ??= (this.options.assets ?? readAssets)()
    return this.assets
  }

  page(request: IncomingMessage, response: ServerResponse, path: string): void {
    // The URL of a request has no dot segments, its path may.
    if (path.startsWith(OWN_PATHS)) {
      this.notFound(request, response)
      return
    }
    const port = this.options.debugPort()
    const html = this.loaded()
      .index.replace(DEBUG_PORT_MARK, String(port ?? 0))
      .replace(ARTIFACTS_MARK, this.options.artifacts === undefined ? 'no' : 'yes')
    response.setHeader('content-security-policy', contentPolicy(debugOriginOf(request, port)))
    response.setHeader('cache-control', 'no-cache')
    response.setHeader('vary', 'accept')
    const etag = `"${createHash('sha256').update(html).digest('base64url').slice(0, 22)}"`
    this.content(request, response, { etag, type: 'text/html; charset=utf-8', body: Buffer.from(html) })
  }

  asset(request: IncomingMessage, response: ServerResponse, path: string): void {
    const asset = this.loaded().files.get(path)
    if (asset === undefined) {
      this.notFound(request, response)
      return
    }
    const [body, encoding] = encoded(asset, request.headers['accept-encoding']?.toString())
    response.setHeader('cache-control', `public, max-age=${YEAR_S}, immutable`)
    response.setHeader('vary', 'accept-encoding')
    if (encoding !== undefined) response.setHeader('content-encoding', encoding)
    // The name says what is in it.
    const etag = `"${path.slice(ASSETS.length)}${encoding === undefined ? '' : `-${encoding}`}"`
    this.content(request, response, { etag, type: asset.type, body })
  }

  artifacts(request: IncomingMessage, response: ServerResponse, path: string): void {
    const { artifacts, admission, bodyIdle, report } = this.options
    const say = (status: number, message: string): void => this.say(request, response, status, message)
    if (artifacts === undefined) {
      say(404, 'the node was given no artifacts (evm.explorer_artifacts)')
      return
    }
    const send = (body: unknown): void => {
      response.setHeader('content-type', 'application/json')
      this.end(request, response, Buffer.from(JSON.stringify(body)))
    }
    const routes = new ArtifactRoutes(artifacts, admission, bodyIdle)
    routes.serve(request, response, path, { send, say }).catch((e: unknown) => {
      report(e)
      response.destroy()
    })
  }

  status(request: IncomingMessage, response: ServerResponse): void {
    const { report } = this.options
    this.sampler.status().then(
      (status) => {
        response.setHeader('content-type', 'application/json')
        this.end(request, response, Buffer.from(JSON.stringify(status)))
      },
      (e: unknown) => {
        report(e)
        response.destroy()
      },
    )
  }

  private notFound(request: IncomingMessage, response: ServerResponse): void {
    response.setHeader('cache-control', 'no-store')
    this.say(request, response, 404, 'not found: reload the page')
  }

  private content(
    request: IncomingMessage,
    response: ServerResponse,
    { etag, type, body }: { readonly etag: string; readonly type: string; readonly body: Buffer },
  ): void {
    response.setHeader('etag', etag)
    const known = request.headers['if-none-match']?.split(',').some((one) => one.trim().replace(/^W\//, '') === etag || one.trim() === '*')
    if (known === true) {
      response.statusCode = 304
      response.end()
      return
    }
    response.setHeader('content-type', type)
    this.end(request, response, body)
  }

  say(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
    response.statusCode = status
    response.setHeader('content-type', 'text/plain; charset=utf-8')
    this.end(request, response, Buffer.from(`${message}\n`))
  }

  private end(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    response.setHeader('content-length', body.length)
    response.end(request.method === 'HEAD' ? undefined : body)
    if (response.writableLength > 0) cutOffAfter(response, this.options.writeMs)
  }
}

/** A route on the raw request and response; `serve` gets the path without its query. */
const raw =
  (serve: (request: IncomingMessage, response: ServerResponse, path: string) => void): Handler<AppEnv> =>
  (c) => {
    const { incoming, outgoing } = c.env
    serve(incoming, outgoing, pathOf(incoming.url))
    return RESPONSE_ALREADY_SENT
  }

/** Makes the app of the explorer. */
export function createPages(options: PageOptions): Pages {
  const explorer = new Explorer(options)
  const say = (c: Context<AppEnv>, status: number, message: string): Response => {
    explorer.say(c.env.incoming, c.env.outgoing, status, message)
    return RESPONSE_ALREADY_SENT
  }
  const app = new Hono<AppEnv>()
  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(COMMON_HEADERS)) c.env.outgoing.setHeader(name, value)
    return next()
  })
  // The files of the page count against no rate limit: they are sent from memory and kept by the
  // browser, and a page without one of its scripts could not wait for the rest.
  app.get(
    `${ASSETS}*`,
    raw((request, response, path) => explorer.asset(request, response, path)),
  )
  app.use(middleware(rate(options.admission, (c) => say(c, 429, 'too many requests (evm.ip_rate_limit_rps)'))))
  const data = async (c: Context<AppEnv>, next: () => Promise<void>): Promise<void> => {
    c.env.outgoing.setHeader('cache-control', 'no-store')
    return next()
  }
  const mayRead = middleware(tokens(options.authentication, options.writeMs, NAMESPACE))
  const artifacts = raw((request, response, path) => explorer.artifacts(request, response, path))
  app.get(
    STATUS,
    data,
    mayRead,
    raw((request, response) => explorer.status(request, response)),
  )
  app.get(`${SOURCE}*`, data, mayRead, artifacts)
  app.post(IDENTIFY, data, mayRead, artifacts)
  app.get(
    '*',
    raw((request, response, path) => explorer.page(request, response, path)),
  )
  app.onError((e, c) => {
    if (!(e instanceof NotBuilt)) options.report(e)
    return say(c, e instanceof NotBuilt ? 503 : 500, e instanceof NotBuilt ? e.message : 'internal error')
  })
  return { app, stop: () => explorer.stop() }
}
