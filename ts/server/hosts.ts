// Allowed host names of the node: a web page must not reach it through a name of its own (DNS
// rebinding).
import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'

/** An IPv6 address in brackets, with or without a port. */
const BRACKETED = /^\[([^\][]*)\](?::\d{0,5})?$/

/** A name or an IPv4 address, with or without a port. */
const NAMED = /^([^:\][]+)(?::\d{0,5})?$/

/**
 * The host of a `Host` header, without its port, in lower case; undefined for a malformed header
 * (RFC 9110, section 7.2).
 */
export function hostOf(header: string): string | undefined {
  const text = header.trim().toLowerCase()
  const address = BRACKETED.exec(text)?.[1]
  if (address !== undefined) return isIPv6(address) ? address : undefined
  // Some programs send an IPv6 address without brackets: `NAMED` does not match its two colons.
  // isIPv6 comes last because its first use takes milliseconds: Node compiles a long expression.
  return NAMED.exec(text)?.[1] ?? (isIPv6(text) ? text : undefined)
}

/**
 * Whether requests for a host are served: addresses always, names if they are listed, all with `*`.
 * Programs may send no host.
 */
export function isAllowedHost(allowed: readonly string[], header: string | undefined): boolean {
  if (header === undefined || header === '' || allowed.includes('*')) return true
  const host = hostOf(header)
  return host !== undefined && (allowed.includes(host) || isIP(host) !== 0)
}

/** Hosts of which the URL of a request can be made: a name or an IPv4 address, and a port. */
const URL_HOST = /^[a-z0-9._-]+(?::(?:[1-5]\d{3,4}|[6-9]\d{3}))?$/

/**
 * Whether the Hono app can make a URL with a `Host` header. It refuses others, such as an IPv6
 * address without brackets, before any route has seen the request.
 */
export const givesUrl = (header: string | undefined): boolean => header === undefined || URL_HOST.test(header)

/** `Host` headers that were hidden. */
const hidden = new WeakMap<IncomingMessage, string>()

/** Hides the `Host` header of a request from all but `givenHost`. */
export function hideHost(request: IncomingMessage): void {
  const { host } = request.headers
  if (host === undefined) return
  hidden.set(request, host)
  delete request.headers.host
}

/** The `Host` header of a request as it came. */
export const givenHost = (request: IncomingMessage): string | undefined => request.headers.host ?? hidden.get(request)
