// Allowed host names of the node: a web page must not reach it through a name of its own (DNS
// rebinding).
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
  // Some programs send an IPv6 address without brackets.
  return isIPv6(text) ? text : NAMED.exec(text)?.[1]
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
