// The reply to a message: its body, and what a transport may say beside it.
import { type Body, EMPTY } from '../core/body.ts'
import type { TraceOrigin } from '../core/port.ts'
import type { VerifiedBy } from './elsewhere.ts'
import { errorAnswer } from './envelope.ts'
import type { RpcError } from './errors.ts'
import { WARNINGS_MAX } from './headers.ts'

/**
 * What is said beside a body; over HTTP by headers, and by the status where a request is refused.
 */
export interface ReplyHeaders {
  /** What the answer to a single request is made from, where the core says. */
  origin?: TraceOrigin | undefined
  /**
   * How long the work of a single request waited for its thread, in milliseconds, where the core
   * says.
   */
  waitedMs?: number | undefined
  /** Whether a method of the namespace `chain` was called. */
  usedLegacy?: boolean
  /** How well what the answer is made from was checked; absent unless the node follows another. */
  verified?: VerifiedBy
  /** The validator that answered the request. */
  redirectedTo?: string | undefined
  /** What is probably a mistake in the request, at most `WARNINGS_MAX`. */
  warnings?: string[]
  /** Whether a single request is refused for want of a token or JWT. */
  isUnauthorized?: boolean
  /** Milliseconds until requests that the rate limit refused may be sent again. */
  retryAfterMs?: number
}

/** The reply to a message; the body of one that holds notifications only is empty. */
export interface Reply {
  readonly body: Body
  readonly headers: ReplyHeaders
}

/** The body of a whole answer with an error. */
export const errorBody = (id: string, error: RpcError): Body => ({ kind: 'bytes', bytes: Buffer.from(errorAnswer(id, error)) })

/** The body of the answer to a request that failed; empty for a notification. */
export const failureBody = (id: string | undefined, error: RpcError): Body => (id === undefined ? EMPTY : errorBody(id, error))

/** Adds a warning, unless there are enough. */
export function addWarning(headers: ReplyHeaders, warning: string): void {
  headers.warnings ??= []
  if (headers.warnings.length < WARNINGS_MAX) headers.warnings.push(warning)
}
