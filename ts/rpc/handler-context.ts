// What handlers work with: the node's context, and what belongs to one request.
import type { Line } from '../core/line.ts'
import type { Core } from '../core/port.ts'
import { type Client, ClientCaller, THIS_PROCESS } from './client.ts'
import type { PassedOnMethod } from './elsewhere.ts'
import { SubscriptionHub } from './follow/index.ts'
import { CONNECTIONS, type RequestMeter, type Sample } from './meter.ts'
import type { Context, HandlerContext, Method } from './method.ts'
import { REDIRECTED_METHODS } from './redirect.ts'
import { addWarning, type ReplyHeaders } from './reply.ts'
import { FORWARDED_ALREADY, type ForwardedMethod, type Redirect } from './submission.ts'
import type { Subscriber } from './subscription.ts'
import { servedNamespaces } from './table.ts'

/** One request, as far as its handler depends on it. */
export interface Request {
  readonly client: Client
  readonly sample: Sample
  /** Where it may begin subscriptions; undefined within batches. */
  readonly subscriber?: Subscriber | undefined
  /** The headers of the reply. */
  readonly headers: ReplyHeaders
  /** The requests of its batch among which it keeps its place. */
  readonly line?: Line | undefined
}

/** The context of one request while it is made. */
type Own = { -readonly [Member in keyof HandlerContext]: HandlerContext[Member] }

/** Makes the contexts of handlers. */
export class HandlerContexts {
  private readonly context: HandlerContext
  private readonly meter: RequestMeter
  private readonly ofClient: (client: Client) => HandlerContext

  constructor(given: Context, meter: RequestMeter, report: (e: unknown) => void) {
    const namespaces = servedNamespaces(given.namespaces, given.core.dev)
    this.context = { ...given, namespaces, follow: new SubscriptionHub(given.core, given.following, report) }
    this.meter = meter
    this.ofClient = forwarding(this.context, meter)
  }

  /**
   * The context of a request. Long work is requested in its client's name, so that clients take
   * turns, and ends when the client goes.
   */
  of(method: Method, { client, sample, subscriber, headers, line }: Request): HandlerContext {
    const { address } = client
    const redirect = this.redirect(method, client, headers)
    const ofClient = this.ofClient(client)
    const observed = this.observed(client, headers)
    const isShort = method.cost === 'read' || address === undefined
    const isOfAll = redirect === undefined && observed === undefined && subscriber === undefined && !method.keeps
    if (isShort && isOfAll) return ofClient
    // What requests share is behind the object of one: a copy of all members takes longer.
    const context = Object.create(ofClient) as Own
    if (redirect !== undefined) context.redirect = redirect
    if (observed !== undefined) context.core = observed
    if (method.keeps && address !== THIS_PROCESS) context.client = address
    if (subscriber !== undefined) context.subscriber = subscriber
    if (isShort) return context
    if (client.takesWarnings === true) context.warn = (warning) => addWarning(headers, warning)
    context.onDisconnect = (callback) => client.onDisconnect(callback)
    const { core } = context
    context.core = core.withCaller?.(new ClientCaller(address, client, sample, line)) ?? core
    return context
  }

  /** Says in the headers of a reply how well the blocks of this node were checked. */
  mark(headers: ReplyHeaders): void {
    const verified = this.context.core.verified?.()
    if (verified !== undefined) headers.verified ??= verified
  }

  /**
   * The core of one request, which counts what goes to an upstream; undefined where nothing does.
   */
  private observed(client: Client, headers: ReplyHeaders): Core | undefined {
    this.mark(headers)
    return this.context.core.observed?.((method) => {
      // The unit tests compare the names of both tables.
      this.meter.count('redirected', method as PassedOnMethod, client.connection)
      headers.verified = 'upstream'
    })
  }

  /** What sends a request to a validator; undefined where the request stays here. */
  private redirect({ name }: Method, client: Client, headers: ReplyHeaders): Redirect | undefined {
    const { core, redirects } = this.context
    if (redirects === undefined || !REDIRECTED.has(name) || client.forwarded === true) return undefined
    const { meter } = this
    return {
      core,
      dependsOnSender: redirects.dependsOnSender,
      send: (sender, method, params) =>
        redirects.send(sender, method, params, {
          sent: (owner) => {
            meter.count('redirected', method, client.connection)
            headers.redirectedTo = owner
          },
          failed: (reason) => {
            headers.redirectedTo = undefined
            meter.count('redirectFailures', reason)
          },
        }),
    }
  }
}

const REDIRECTED: ReadonlySet<string> = new Set(REDIRECTED_METHODS)

/**
 * The context by client: the same for all, except that forwarded requests are counted by
 * connection.
 */
function forwarding(context: HandlerContext, meter: RequestMeter): (client: Client) => HandlerContext {
  const { submission } = context
  if (typeof submission !== 'function') return () => context
  const again: HandlerContext = { ...context, submission: FORWARDED_ALREADY }
  const counting = CONNECTIONS.map((connection): HandlerContext => {
    const counted: typeof submission = (method, params, waitMs, signal) => {
      // Handlers forward these methods only (`submit`, `forward`).
      meter.count('redirected', method as ForwardedMethod, connection)
      return submission(method, params, waitMs, signal)
    }
    return { ...context, submission: counted }
  })
  return ({ connection, forwarded }) => (forwarded === true ? again : (counting[CONNECTIONS.indexOf(connection)] ?? context))
}
