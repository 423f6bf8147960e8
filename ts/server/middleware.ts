// What the apps of the listeners have in common: names of the node, origins, tokens, rates. Each
// step works on the raw request and response, as the route of JSON-RPC does.
//
// Hono's own chain makes promises for each step, which take a quarter of a short answer without the
// fast path. `inOrder` makes one handler of several steps that waits only where a step does;
// `middleware` makes a step Hono's middleware.
import type { IncomingMessage } from 'node:http'
import type { HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import type { Context, MiddlewareHandler } from 'hono'
import type { DeniedNamespaces } from '../rpc/client.ts'
import type { Authentication } from './admission/auth.ts'
import type { Admission } from './admission/index.ts'
import { closeAfter } from './connections.ts'
import { applyCors } from './cors.ts'
import { givenHost, isAllowedHost } from './hosts.ts'
import type { Readiness } from './readiness.ts'
import { discardBody, refuseUnauthorized } from './refuse.ts'
import { endShort } from './respond.ts'

/** What a route finds in its context. */
export interface AppEnv {
  readonly Bindings: HttpBindings
  readonly Variables: {
    /** The namespaces that the client may not use. */
    denied?: DeniedNamespaces
  }
}

/** An answer, or one that comes. */
type Answer = Response | Promise<Response>

/** A step before a route: it answers, or continues. */
export type Step = (c: Context<AppEnv>, next: () => Answer) => Answer

/** The last step: it answers. */
type Last = (c: Context<AppEnv>) => Answer

/** One handler of several steps. */
export const inOrder = (before: readonly Step[], last: Last): Last =>
  before.reduceRight<Last>((next, step) => (c) => step(c, () => next(c)), last)

/** A step as Hono's middleware, whose `next` gives no answer. */
export const middleware =
  (step: Step): MiddlewareHandler<AppEnv> =>
  async (c, next) =>
    step(c, next as unknown as () => Promise<Response>)

/** Why a request under another name than the node's is refused. */
export const INVALID_HOST = 'invalid host specified (evm.allowed_hosts)'

/**
 * Lets requests pass that came under a name of the node; `refusal` answers others. Most requests
 * have the header of the one before, which is not parsed again.
 */
export const hosts = (allowed: readonly string[], refusal: (c: Context<AppEnv>) => Response): Step => {
  let passed: string | undefined
  return (c, next) => {
    const host = givenHost(c.env.incoming)
    if (host !== undefined && host === passed) return next()
    if (!isAllowedHost(allowed, host)) return refusal(c)
    passed = host
    return next()
  }
}

/** Discards, within a bound, what of a body no route has read. */
export const discarding: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next()
  discardBody(c.env.incoming)
}

/** Ends the connections of a node that stops. */
export const closing =
  (readiness: Readiness | undefined): Step =>
  (c, next) => {
    if (readiness?.draining === true) closeAfter(c.env.outgoing)
    return next()
  }

/**
 * Lets pages of the origins for a request read its answer; answers preflights. A client that takes
 * none of the answer for `writeMs` milliseconds is cut off.
 */
export const cors =
  (originsFor: (request: IncomingMessage) => readonly string[], writeMs: number): Step =>
  (c, next) => {
    const { incoming, outgoing } = c.env
    if (!applyCors(originsFor(incoming), incoming, outgoing)) return next()
    outgoing.statusCode = 204
    endShort(outgoing, writeMs)
    return RESPONSE_ALREADY_SENT
  }

/**
 * Lets requests with a token pass. Where only some namespaces need one, others pass too: without a
 * `namespace`, the methods of those are denied; with one, whose answer the route gives, requests
 * pass if it is not among them.
 */
export const tokens =
  (authentication: Authentication | undefined, writeMs: number, namespace?: string): Step =>
  (c, next) => {
    const { incoming, outgoing } = c.env
    const namespaces = authentication?.namespaces
    if (authentication === undefined || (namespace !== undefined && namespaces?.has(namespace) === false)) return next()
    const decide = (why: string | undefined): Answer => {
      // The client may have disconnected while its token was verified.
      if (outgoing.destroyed) return RESPONSE_ALREADY_SENT
      if (why === undefined) return next()
      if (namespaces !== undefined && namespace === undefined) {
        c.set('denied', { namespaces, why })
        return next()
      }
      refuseUnauthorized(incoming, outgoing, writeMs, why)
      return RESPONSE_ALREADY_SENT
    }
    const why = authentication.refusal(incoming.headers.authorization)
    return why instanceof Promise ? why.then(decide) : decide(why)
  }

const MS_PER_SECOND = 1000

/** Counts requests of each client; `refusal` answers those of one that sent too many. */
export const rate =
  (admission: Admission, refusal: (c: Context<AppEnv>) => Response): Step =>
  (c, next) => {
    const { incoming, outgoing } = c.env
    const waitMs = admission.admit(admission.clientOf(incoming), 1)
    if (waitMs <= 0) return next()
    outgoing.setHeader('retry-after', Math.ceil(waitMs / MS_PER_SECOND))
    return refusal(c)
  }
