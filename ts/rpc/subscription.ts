// Subscriptions between methods and transports: a method returns a feed or a source, a transport
// sends the notifications.
import type { ByteStream } from '../core/body.ts'
import { CODE, RpcError, serverError } from './errors.ts'
import type { Listener } from './follow/follower.ts'

/** What a subscription sends as fast as its client takes it. */
export interface Feed {
  /**
   * The results of its notifications, one after the other: the next one is requested when the one
   * before has been sent.
   */
  readonly results: AsyncGenerator<ByteStream, void>
  /** Ends the work in progress; nothing follows. */
  readonly cancel: () => void
  /** Nothing follows the result in progress. */
  readonly end: () => void
}

/**
 * A subscription that sends at each event, whether or not its client keeps up. Returns the function
 * that ends it.
 */
export type Source = (listener: Listener) => Promise<() => void>

/** Where one request of a connection that stays open begins and ends subscriptions. */
export interface Subscriber {
  /**
   * Sends the results of a feed as notifications of a namespace, once the request has its answer;
   * returns the subscription's id.
   */
  subscribe(namespace: string, feed: Feed): string
  /** Sends the notifications of a source, as `subscribe` does. */
  follow(namespace: string, source: Source): Promise<string>
  /** Ends a subscription of the connection; false where there is none with this id. */
  unsubscribe(id: string): boolean
  /** Called with failures that are faults of this program. */
  readonly report: (e: unknown) => void
}

/** The subscriber of a request; throws where the transport has none. */
export function needed(subscriber: Subscriber | undefined): Subscriber {
  if (subscriber === undefined) throw new RpcError(CODE.methodNotFound, 'notifications not supported')
  return subscriber
}

/** Ends a subscription of the connection on its client's request. */
export function endSubscription(subscriber: Subscriber | undefined, id: string): Uint8Array {
  if (!needed(subscriber).unsubscribe(id)) throw serverError('subscription not found')
  return Buffer.from('true')
}

/** A connection has as many subscriptions as it may. */
export const tooManySubscriptions = (limit: number): RpcError =>
  new RpcError(CODE.limitExceeded, `too many subscriptions on this connection: at most ${limit}`)
