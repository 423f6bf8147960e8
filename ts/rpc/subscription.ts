// Subscriptions, as methods and transports see them: a method gives a feed, a transport sends what the feed gives.
import type { ResultStream } from '../core/port.ts'
import { CODE, RpcError } from './errors.ts'

/** What a subscription sends. */
export interface Feed {
  /** The results of its notifications, one after the other: the next one is asked for when the one before has been sent. */
  readonly results: AsyncGenerator<ResultStream, void>
  /** Nobody wants more: ends the work under way. */
  readonly cancel: () => void
}

/** Where one request of a connection that stays open begins and ends subscriptions. */
export interface Subscriber {
  /** Sends what a feed gives as notifications of a namespace, once the request has its answer; the subscription's id. */
  subscribe(namespace: string, feed: Feed): string
  /** Ends a subscription of the connection; false where there is none with this id. */
  unsubscribe(id: string): boolean
  /** Told of failures that are this program's fault. */
  readonly report: (e: unknown) => void
}

/** The subscriber of a request; throws where the transport has none. */
export function needed(subscriber: Subscriber | undefined): Subscriber {
  if (subscriber === undefined) throw new RpcError(CODE.methodNotFound, 'notifications not supported')
  return subscriber
}

/** A connection has as many subscriptions as it may. */
export const tooManySubscriptions = (limit: number): RpcError =>
  new RpcError(CODE.limitExceeded, `too many subscriptions on this connection: at most ${limit}`)
