// Which requests are for the explorer's pages. Small: it runs for every request that is no
// ordinary POST.
import type { IncomingMessage } from 'node:http'
import { declaredLength } from '../body.ts'

/** Where the files of the page are. */
export const ASSETS = '/_/assets/'

/** Where the node's health is as JSON. */
export const STATUS = '/_/status'

/** Names the contracts of codes by the artifacts that the node was given. */
export const IDENTIFY = '/_/identify'

/** Lines of a contract by the id that `/_/identify` gave. */
export const SOURCE = '/_/source/'

/** Addresses of pages; which of them exist, the page itself says. */
const PAGE = /^\/(?:(?:(?:block|tx|address|compare)\/[^/]{1,100}(?:\/[a-zA-Z0-9-]{1,100})?|call(?:\/[a-z-]{1,20})?|tracer))?$/

/** The path of a request, without its query. */
export const pathOf = (url = ''): string => url.split('?', 1)[0] as string

/** Whether a browser requests a page. */
const wantsHtml = (request: IncomingMessage): boolean => request.headers.accept?.toLowerCase().includes('text/html') === true

/**
 * Whether a request is one for the explorer: a page only where the client accepts HTML, so that
 * other requests for `/` stay as they are.
 */
export function isPageRequest(request: IncomingMessage): boolean {
  if (request.method === 'POST' && pathOf(request.url) === IDENTIFY) return true
  if ((request.method !== 'GET' && request.method !== 'HEAD') || declaredLength(request) || request.headers['transfer-encoding'])
    return false
  const path = pathOf(request.url)
  return path === STATUS || path.startsWith(ASSETS) || path.startsWith(SOURCE) || (wantsHtml(request) && PAGE.test(path))
}
