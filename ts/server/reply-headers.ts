// What is said beside a reply, as a status and headers of HTTP.
import { VERIFIED_HEADER } from '../rpc/elsewhere.ts'
import { LEGACY_HEADER, LEGACY_TEXT, TRACE_HEADER, WARNING_HEADER } from '../rpc/headers.ts'
import { REDIRECTED_TO_HEADER } from '../rpc/redirect.ts'
import type { ReplyHeaders } from '../rpc/reply.ts'
import { CHALLENGE } from './unauthorized.ts'

/** A header: its name in lower case, and its value. */
export type Header = readonly [name: string, value: string]

/** The status of a reply. */
export function statusOf({ isUnauthorized, retryAfterMs }: ReplyHeaders): 200 | 401 | 429 {
  if (isUnauthorized === true) return 401
  return retryAfterMs === undefined ? 200 : 429
}

const MS_PER_SECOND = 1000

/** The headers of a reply, without those that depend on its length and encoding. */
export function headersOf(headers: ReplyHeaders): Header[] {
  const { isUnauthorized, origin, redirectedTo, retryAfterMs, usedLegacy, verified, waitedMs, warnings } = headers
  const given: Header[] = []
  if (retryAfterMs !== undefined) given.push(['retry-after', String(Math.ceil(retryAfterMs / MS_PER_SECOND))])
  if (isUnauthorized === true) given.push(['www-authenticate', CHALLENGE])
  given.push(['content-type', 'application/json'])
  if (waitedMs !== undefined) given.push(['server-timing', `wait;dur=${waitedMs.toFixed(1)}`])
  if (origin !== undefined) given.push([TRACE_HEADER, origin])
  if (usedLegacy === true) given.push([LEGACY_HEADER, LEGACY_TEXT])
  if (verified !== undefined) given.push([VERIFIED_HEADER, verified])
  if (redirectedTo !== undefined) given.push([REDIRECTED_TO_HEADER, redirectedTo])
  if (warnings !== undefined) given.push([WARNING_HEADER, warnings.join(' | ')])
  return given
}
