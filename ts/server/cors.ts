// Which web pages may use the node (https://fetch.spec.whatwg.org/#http-cors-protocol).
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Seconds for which a browser may remember a preflight. */
const PREFLIGHT_MAX_AGE_S = 600

/** Whether a page of this origin is allowed; a request without an origin is no page's. */
export const isAllowedOrigin = (allowed: readonly string[], origin: string | undefined): boolean =>
  origin === undefined || allowed.includes('*') || allowed.includes(origin.toLowerCase())

/** Sets the headers that let the page read the answer; true for a preflight, which is answered with 204 and nothing more. */
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
