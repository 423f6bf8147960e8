// Subscriptions, as methods and transports see them: a method gives a feed or a source, a transport sends what comes.
import type { ByteStream } from '../core/body.ts'
import { CODE, RpcError, serverError } from './errors.ts'
import type { Listener } from './follow/follower.ts'

/** What a subscription sends as fast as its client takes it. */
export interface Feed {
  /** The results of its notifications, one after the other: the next one is asked for when the one before has been sent. */
  readonly results: AsyncGenerator<ByteStream, void>
  /** Nobody wants more: ends the work under way. */
  readonly cancel: () => void
}

/** What a subscription sends whenever something happens, whether or not its client keeps up. Gives what ends it. */
export type Source = (listener: Listener) => Promise<() => void>

/** Where one request of a connection that stays open begins and ends subscriptions. */
export interface Subscriber {
  /** Sends what a feed gives as notifications of a namespace, once the request has its answer; the subscription's id. */
  subscribe(namespace: string, feed: Feed): string
  /** Sends what a source tells, as `subscribe` does. */
  follow(namespace: string, source: Source): Promise<string>
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

/** Ends a subscription of the connection, as its client asked. */
export function endSubscription(subscriber: Subscriber | undefined, id: string): Uint8Array {
  if (!needed(subscriber).unsubscribe(id)) throw serverError('subscription not found')
  return Buffer.from('true')
}

/** A connection has as many subscriptions as it may. */
export const tooManySubscriptions = (limit: number): RpcError =>
  new RpcError(CODE.limitExceeded, `too many subscriptions on this connection: at most ${limit}`)
