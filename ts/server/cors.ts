// Which web pages may use the node (https://fetch.spec.whatwg.org/#http-cors-protocol).
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Seconds for which a browser may remember a preflight. */
const PREFLIGHT_MAX_AGE_S = 600

/** The word that stands for the pages of this machine. */
export const LOCALHOST = 'localhost'

/** Origins of pages that this machine serves, on any port. */
const LOCAL = /^https?:\/\/(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/

/** Whether a page of this origin is allowed; a request without an origin is no page's. */
export function isAllowedOrigin(allowed: readonly string[], header: string | undefined): boolean {
  if (header === undefined || allowed.includes('*')) return true
  const origin = header.toLowerCase()
  return allowed.includes(origin) || (allowed.includes(LOCALHOST) && LOCAL.test(origin))
}

/** Whether a page comes from the same host and port as its request; the host was checked before. */
export const isSameHost = (origin: string | undefined, host: string | undefined): boolean =>
  origin !== undefined && host !== undefined && origin.toLowerCase().replace(/^https?:\/\//, '') === host.trim().toLowerCase()

/**
 * Sets the headers that let the page read the answer; true for a preflight, which is answered with
 * 204 and no body.
 */
export function applyCors(allowed: readonly string[], request: IncomingMessage, response: ServerResponse): boolean {
  const { origin } = request.headers
  if (origin !== undefined && isAllowedOrigin(allowed, origin)) {
    response.setHeader('access-control-allow-origin', allowed.includes('*') ? '*' : origin)
    if (!allowed.includes('*')) response.appendHeader('vary', 'origin')
    if (request.method === 'OPTIONS') {
      response.setHeader('access-control-allow-methods', 'POST, GET')
      response.setHeader('access-control-allow-headers', 'content-type, authorization')
      response.setHeader('access-control-max-age', PREFLIGHT_MAX_AGE_S)
    }
  }
  return request.method === 'OPTIONS'
}
