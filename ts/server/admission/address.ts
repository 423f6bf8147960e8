// Who a request comes from: the address that limits are kept by.
import type { IncomingMessage } from 'node:http'
import { BlockList, isIPv4, isIPv6, type Socket } from 'node:net'

/** Entries of X-Forwarded-For that are looked at, from the right: no chain of proxies is longer. */
const FORWARDED_MAX = 32

/** Groups of an IPv6 address that name a customer: its first 64 bits. */
const IPV6_GROUPS = 4

/** What stands before an IPv4 address that came over an IPv6 socket. */
const MAPPED = '::ffff:'

/**
 * An address without the parts that do not change its owner: brackets, port, zone, the mapping of
 * IPv4.
 */
function bare(text: string): string {
  let address = text.trim()
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(address)
  if (bracketed) address = bracketed[1] as string
  else if (/^\d+\.\d+\.\d+\.\d+:\d+$/.test(address)) address = address.slice(0, address.lastIndexOf(':'))
  const zone = address.indexOf('%')
  if (zone >= 0) address = address.slice(0, zone)
  const mapped = address.slice(MAPPED.length)
  return address.toLowerCase().startsWith(MAPPED) && isIPv4(mapped) ? mapped : address
}

/** The first 64 bits of an IPv6 address, as groups without leading zeros. */
function prefix64(address: string): string {
  const [left = '', right] = address.toLowerCase().split('::')
  const groups = left === '' ? [] : left.split(':')
  if (right !== undefined) {
    const after = right === '' ? 0 : right.split(':').length + (right.includes('.') ? 1 : 0)
    while (groups.length + after < 2 * IPV6_GROUPS) groups.push('0')
    if (right !== '') groups.push(...right.split(':'))
  }
  const shown = groups.slice(0, IPV6_GROUPS).map((group) => group.replace(/^0+(?=.)/, ''))
  return `${shown.join(':')}::/64`
}

/** A network such as 10.0.0.0/8, or a lone address, as a list of blocked addresses takes it. */
function addTo(list: BlockList, network: string): void {
  const [address = '', bits] = network.split('/')
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  if (bits === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(bits), family)
}

/** Distinguishes clients by address; behind trusted proxies by their X-Forwarded-For. */
export class ClientAddresses {
  private readonly trusted = new BlockList()
  private readonly anyTrusted: boolean
  /** Keys of connections whose requests all have the same client. */
  private readonly known = new WeakMap<object, string>()

  /** `proxies` are the networks whose X-Forwarded-For is believed. */
  constructor(proxies: readonly string[]) {
    for (const network of proxies) addTo(this.trusted, network)
    this.anyTrusted = proxies.length > 0
  }

  /**
   * The key of a request's client: an IPv4 address, the first 64 bits of an IPv6 address, or
   * `unknown` if the socket has none. From a trusted proxy it is the right-most address of
   * X-Forwarded-For that is no trusted proxy itself.
   */
  of(request: Pick<IncomingMessage, 'headers' | 'socket'>): string {
    const { socket } = request
    const known = this.known.get(socket)
    if (known !== undefined) return known
    const peer = bare(socket.remoteAddress ?? '')
    if (!this.anyTrusted || !this.isTrusted(peer)) {
      const client = key(peer)
      this.known.set(socket, client)
      return client
    }
    const header = request.headers['x-forwarded-for']
    const text = Array.isArray(header) ? header.join(',') : (header ?? '')
    let nearest = peer
    const entries = text.split(',')
    for (const entry of entries.slice(-FORWARDED_MAX).reverse()) {
      const address = bare(entry)
      if (!isIPv4(address) && !isIPv6(address)) break
      nearest = address
      if (!this.isTrusted(address)) break
    }
    return key(nearest)
  }

  /**
   * The key of a connection's client; undefined if it is a trusted proxy, or the connection is
   * gone.
   */
  ofConnection(socket: Pick<Socket, 'remoteAddress'>): string | undefined {
    const peer = bare(socket.remoteAddress ?? '')
    return peer === '' || (this.anyTrusted && this.isTrusted(peer)) ? undefined : key(peer)
  }

  private isTrusted(address: string): boolean {
    if (isIPv4(address)) return this.trusted.check(address, 'ipv4')
    return isIPv6(address) && this.trusted.check(address, 'ipv6')
  }
}

const key = (address: string): string => (isIPv6(address) ? prefix64(address) : address === '' ? 'unknown' : address)
