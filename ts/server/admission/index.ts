// Which requests are let in: limits by client, and over all clients together.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Settings } from '../../config/index.ts'
import { Shares } from '../../rpc/shares.ts'
import { ClientAddresses } from './address.ts'
import { TokenBuckets } from './buckets.ts'
import { ByteBudget } from './budget.ts'
import { ClientBudgets } from './client-budget.ts'

/** Largest message over WebSocket, in bytes. */
export const webSocketPayload = (settings: Settings): number => {
  const bytes = settings['evm.ws_max_payload_bytes']
  return bytes === 'auto' ? settings['evm.max_request_body_bytes'] : bytes
}

/** The limits of one node. HTTP and WebSocket share the buckets; each has a budget of its own. */
export class Admission {
  readonly httpBytes: ByteBudget
  readonly webSocketBytes: ClientBudgets
  /**
   * Bytes of bodies by client. A body that arrives in one piece and is served by the fast path is
   * at most one read of a socket, and is not in it.
   */
  readonly httpShares: Shares
  /** How long a WebSocket message waits for room, in milliseconds. */
  readonly webSocketWaitMs: number
  private readonly addresses: ClientAddresses
  private readonly buckets: TokenBuckets | undefined

  constructor(settings: Settings) {
    const bytes = settings['evm.max_concurrent_request_bytes']
    // The largest request must find room once it is alone.
    this.httpBytes = new ByteBudget(bytes === 0 ? 0 : Math.max(bytes, settings['evm.max_request_body_bytes']))
    const payload = webSocketPayload(settings)
    this.webSocketBytes = new ClientBudgets(bytes === 0 ? 0 : Math.max(bytes, payload), settings['evm.max_share_per_client'], payload)
    const all = bytes === 0 ? Number.POSITIVE_INFINITY : bytes
    this.httpShares = new Shares(all, settings['evm.max_share_per_client'], settings['evm.max_request_body_bytes'])
    this.webSocketWaitMs = settings['evm.ws_admission_timeout']
    this.addresses = new ClientAddresses(settings['evm.trusted_proxy_cidrs'])
    this.buckets = settings['evm.rate_limiting_enabled']
      ? new TokenBuckets(settings['evm.ip_rate_limit_rps'], settings['evm.ip_rate_limit_burst'])
      : undefined
  }

  /** The client of a request, by address. */
  clientOf(request: Pick<IncomingMessage, 'headers' | 'socket'>): string {
    return this.addresses.of(request)
  }

  /** The client of a connection, by address; undefined where it is a trusted proxy. */
  ownerOf(socket: Socket): string | undefined {
    return this.addresses.ofConnection(socket)
  }

  /**
   * Counts requests of a client: 0 if they are admitted, otherwise the milliseconds until a retry
   * may be.
   */
  admit(client: string, requests: number): number {
    return this.buckets === undefined ? 0 : this.buckets.take(client, requests)
  }
}
