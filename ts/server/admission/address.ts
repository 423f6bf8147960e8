// Who a request comes from: the address that limits are kept by.
import type { IncomingMessage } from 'node:http'
import { isIP, type Socket } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Entries of X-Forwarded-For that are looked at, from the right: no chain of proxies is longer. */
const FORWARDED_MAX = 32

/** Groups of an IPv6 address that name a customer: its first 64 bits. */
const IPV6_GROUPS = 4

/** Bits of an IPv6 address before the IPv4 address that it maps (RFC 4291, section 2.5.5.2). */
const MAPPED_BITS = 96

const [IPV4_BITS, IPV6_BITS] = [32, 128]

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A network: its address, and the bits that its members share. */
type Network = [address: Address, bits: number]

/** An address without what does not change its owner: brackets, port, zone. */
function bare(text: string): string {
  const trimmed = text.trim()
  const bracketed = /^\[([^\]]*)\](?::\d+)?$/.exec(trimmed)?.[1]
  const address = bracketed ?? trimmed.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
  const zone = address.indexOf('%')
  return zone < 0 ? address : address.slice(0, zone)
}

/** An address, an IPv4-mapped one as IPv4; undefined for any other text. */
function parse(text: string): Address | undefined {
  const address = bare(text)
  // ipaddr.js also reads forms of IPv4 that no proxy writes, such as 0x7f.1.
  return isIP(address) === 0 || !ipaddr.isValid(address) ? undefined : ipaddr.process(address)
}

/** A network such as 10.0.0.0/8, or one address. */
function parseNetwork(text: string): Network {
  const [given = '', length] = text.split('/')
  const address = ipaddr.parse(bare(given))
  const bits = length === undefined ? (address.kind() === 'ipv4' ? IPV4_BITS : IPV6_BITS) : Number(length)
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() && bits >= MAPPED_BITS
  return isMapped ? [address.toIPv4Address(), bits - MAPPED_BITS] : [address, bits]
}

/** Distinguishes clients by address; behind trusted proxies by their X-Forwarded-For. */
export class ClientAddresses {
  private readonly trusted: readonly Network[]
  /** Keys of connections whose requests all have the same client. */
  private readonly known = new WeakMap<object, string>()

  /** `proxies` are the networks whose X-Forwarded-For is believed. */
  constructor(proxies: readonly string[]) {
    this.trusted = proxies.map(parseNetwork)
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
    const peer = parse(socket.remoteAddress ?? '')
    if (peer === undefined || !this.isTrusted(peer)) {
      const client = key(peer)
      this.known.set(socket, client)
      return client
    }
    const header = request.headers['x-forwarded-for']
    const text = Array.isArray(header) ? header.join(',') : (header ?? '')
    let nearest = peer
    const entries = text.split(',')
    for (const entry of entries.slice(-FORWARDED_MAX).reverse()) {
      const address = parse(entry)
      if (address === undefined) break
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
    const known = this.known.get(socket)
    if (known !== undefined) return known
    const peer = parse(socket.remoteAddress ?? '')
    if (peer === undefined || this.isTrusted(peer)) return undefined
    const client = key(peer)
    this.known.set(socket, client)
    return client
  }

  private isTrusted(address: Address): boolean {
    return this.trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits))
  }
}

function key(address: Address | undefined): string {
  if (address === undefined) return 'unknown'
  if (address instanceof ipaddr.IPv4) return address.toString()
  const groups = address.parts.slice(0, IPV6_GROUPS).map((group) => group.toString(16))
  return `${groups.join(':')}::/64`
}
