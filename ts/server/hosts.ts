// Which names the node may be asked under: a web page must not reach it through a name of its own (DNS rebinding).
import { isIP } from 'node:net'

/** The host of a `Host` header, without its port, in lower case. */
function hostOf(header: string): string {
  const text = header.trim().toLowerCase()
  if (text.startsWith('[')) return text.slice(1, text.indexOf(']') < 0 ? undefined : text.indexOf(']'))
  const colon = text.indexOf(':')
  // More than one colon is an IPv6 address without brackets.
  return colon < 0 || colon !== text.lastIndexOf(':') ? text : text.slice(0, colon)
}

/** Whether requests for a host are served: addresses always, names where they are listed, all under `*`. Programs may send no host. */
export function isAllowedHost(allowed: readonly string[], header: string | undefined): boolean {
  if (header === undefined || header === '' || allowed.includes('*')) return true
  const host = hostOf(header)
  return allowed.includes(host) || isIP(host) !== 0
}
