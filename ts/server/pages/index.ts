// Serves the explorer from memory: the page, its files, and the node's status. Loaded with the
// first request for any of them.
import { createHash } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Authentication } from '../admission/auth.ts'
import type { Admission } from '../admission/index.ts'
import { hostOf } from '../hosts.ts'
import type { IdleClock } from '../idle.ts'
import { cutOffAfter } from '../respond.ts'
import { CHALLENGE, unauthorizedBody } from '../unauthorized.ts'
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
  readonly listener: RequestListener
  /** Ends what runs in the background. */
  stop(): void
}

/** The namespace by whose rules the status is given: it says as much of a node as traces do. */
const NAMESPACE = 'debug'

/** What index.html has in place of the port of debug methods. */
const DEBUG_PORT_MARK = '{{DEBUG_PORT}}'

/** What index.html has in place of whether the node has artifacts. */
const ARTIFACTS_MARK = '{{ARTIFACTS}}'

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
  const host = hostOf(request.headers.host ?? '')
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

  serve(request: IncomingMessage, response: ServerResponse): void {
    const { admission, report } = this.options
    for (const [name, value] of Object.entries(COMMON_HEADERS)) response.setHeader(name, value)
    // The files of the page count against no rate limit: they are sent from memory and kept by the
    // browser, and a page without one of its scripts could not wait for the rest.
    const isFile = pathOf(request.url).startsWith(ASSETS)
    const waitMs = isFile ? 0 : admission.admit(admission.clientOf(request), 1)
    if (waitMs > 0) {
      response.setHeader('retry-after', Math.ceil(waitMs / 1000))
      this.say(request, response, 429, 'too many requests (evm.ip_rate_limit_rps)')
      return
    }
    try {
      this.route(request, response, pathOf(request.url))
    } catch (e) {
      if (!(e instanceof NotBuilt)) report(e)
      this.say(request, response, e instanceof NotBuilt ? 503 : 500, e instanceof NotBuilt ? e.message : 'internal error')
    }
  }

  private route(request: IncomingMessage, response: ServerResponse, path: string): void {
    if (path === STATUS) this.status(request, response)
    else if (path === IDENTIFY || path.startsWith(SOURCE)) this.artifactsOf(request, response, path)
    else if (path.startsWith(ASSETS)) this.asset(request, response, path)
    else this.page(request, response)
  }

  private loaded(): Assets {
    this.assets ??= (this.options.assets ?? readAssets)()
    return this.assets
  }

  private page(request: IncomingMessage, response: ServerResponse): void {
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

  private asset(request: IncomingMessage, response: ServerResponse, path: string): void {
    const asset = this.loaded().files.get(path)
    if (asset === undefined) {
      response.setHeader('cache-control', 'no-store')
      this.say(request, response, 404, 'not found: reload the page')
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

  /**
   * Whether a client may read what says as much of a node as traces do; it is refused otherwise.
   */
  private mayRead(request: IncomingMessage, response: ServerResponse): boolean {
    const { authentication } = this.options
    const asks = authentication !== undefined && (authentication.namespaces?.has(NAMESPACE) ?? true)
    const why = asks ? authentication.refusal(request.headers.authorization) : undefined
    response.setHeader('cache-control', 'no-store')
    if (why === undefined) return true
    response.setHeader('www-authenticate', CHALLENGE)
    response.setHeader('content-type', 'application/json')
    response.statusCode = 401
    this.end(request, response, Buffer.from(unauthorizedBody(why)))
    return false
  }

  private artifactsOf(request: IncomingMessage, response: ServerResponse, path: string): void {
    const { artifacts, admission, bodyIdle, report } = this.options
    if (!this.mayRead(request, response)) return
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

  private status(request: IncomingMessage, response: ServerResponse): void {
    const { report } = this.options
    if (!this.mayRead(request, response)) return
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

  private say(request: IncomingMessage, response: ServerResponse, status: number, message: string): void {
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

/** What serves the explorer. */
export function createPages(options: PageOptions): Pages {
  const explorer = new Explorer(options)
  return { listener: (request, response) => explorer.serve(request, response), stop: () => explorer.stop() }
}
