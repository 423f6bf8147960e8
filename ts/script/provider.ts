// The node as an EIP-1193 provider: every JSON-RPC method that it serves, without a socket, and
// subscriptions as events.
import { randomBytes } from 'node:crypto'
import { jsonOf, streamText } from '../core/chunks.ts'
import type { Caller } from '../rpc/caller.ts'
import { RpcError } from '../rpc/errors.ts'
import { type OwnWork, ownMethod } from '../rpc/own-methods.ts'
import { type Feed, type Source, type Subscriber, tooManySubscriptions } from '../rpc/subscription.ts'
import { type AbortOptions, Ending, mayEnd, within } from './abort-options.ts'
import { closed } from './errors.ts'

/** A request (EIP-1193). */
export interface ProviderRequest {
  readonly method: string
  readonly params?: readonly unknown[] | object | undefined
}

/** A notification of a subscription (EIP-1193). */
export interface ProviderMessage {
  readonly type: string
  readonly data: { readonly subscription: string; readonly result: unknown }
}

/** An error as JSON-RPC has it (EIP-1193, EIP-1474). */
export class ProviderRpcError extends Error {
  override name = 'ProviderRpcError'
  readonly code: number
  /** What the error carries beside its message, as JSON: the output of a revert as `0x` text. */
  readonly data: unknown

  constructor({ code, message, data }: { readonly code: number; readonly message: string; readonly data?: unknown }, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.data = data
  }
}

/** Receives notifications. */
export type ProviderListener = (message: ProviderMessage) => void

/** An EIP-1193 provider within this process. */
export interface Provider {
  /** Calls a method. Rejects with `ProviderRpcError`. */
  request(request: ProviderRequest, abort?: AbortOptions): Promise<unknown>
  /** Listens to the messages of subscriptions (eth_subscribe, debug_subscribe). */
  on(event: 'message', listener: ProviderListener): Provider
  removeListener(event: 'message', listener: ProviderListener): Provider
}

/** Most subscriptions of a provider. */
const SUBSCRIPTIONS_MAX = 1000
const ID_BYTES = 16

/** The subscriptions of one provider. */
class Subscriptions implements Subscriber {
  private readonly running = new Map<string, () => void>()
  private readonly listener: ProviderListener
  readonly report: (e: unknown) => void

  constructor(listener: ProviderListener, report: (e: unknown) => void) {
    this.listener = listener
    this.report = report
  }

  private register(stop: () => void): string {
    if (this.running.size >= SUBSCRIPTIONS_MAX) throw tooManySubscriptions(SUBSCRIPTIONS_MAX)
    const id = `0x${randomBytes(ID_BYTES).toString('hex')}`
    this.running.set(id, stop)
    return id
  }

  private message(namespace: string, subscription: string, result: unknown): void {
    if (this.running.has(subscription)) this.listener({ type: `${namespace}_subscription`, data: { subscription, result } })
  }

  subscribe(namespace: string, feed: Feed): string {
    const id = this.register(feed.cancel)
    const run = async (): Promise<void> => {
      for await (const result of feed.results) this.message(namespace, id, JSON.parse(await streamText(result)))
      this.running.delete(id)
    }
    // The answer with the id comes first.
    setImmediate(() => {
      run().catch((e: unknown) => {
        if (this.running.delete(id)) this.report(e)
      })
    })
    return id
  }

  async follow(namespace: string, source: Source): Promise<string> {
    const id = this.register(() => undefined)
    const push = (result: Uint8Array): void => {
      setImmediate(() => this.message(namespace, id, jsonOf(result)))
    }
    try {
      const stop = await source({ push, lost: (events) => this.report(new Error(`${events} events were missed and cannot be delivered`)) })
      if (this.running.has(id)) this.running.set(id, stop)
      else stop()
    } catch (e) {
      this.running.delete(id)
      throw e
    }
    return id
  }

  unsubscribe(id: string): boolean {
    this.running.get(id)?.()
    return this.running.delete(id)
  }

  close(): void {
    for (const id of [...this.running.keys()]) this.unsubscribe(id)
  }
}

/** The provider of a node, and how it ends. */
export class NodeProvider implements Provider {
  private readonly call: Caller
  private readonly own: OwnWork
  private readonly listeners = new Set<ProviderListener>()
  private readonly subscriptions: Subscriptions
  private isClosed = false

  constructor(call: Caller, own: OwnWork, report: (e: unknown) => void) {
    this.call = call
    this.own = own
    this.subscriptions = new Subscriptions((message) => {
      for (const listener of [...this.listeners]) listener(message)
    }, report)
  }

  async request({ method, params }: ProviderRequest, abort: AbortOptions = {}): Promise<unknown> {
    if (this.isClosed) throw closed()
    try {
      const own = ownMethod(method)
      if (own !== undefined) return await own.call(this.own, params, abort)
      const { onDisconnect, end } = new Ending()
      const options = { subscriber: this.subscriptions, ...(mayEnd(abort) ? { onDisconnect } : {}) }
      return await within(abort, () => this.call(method, params, options), end)
    } catch (e) {
      throw e instanceof RpcError ? new ProviderRpcError(e, e) : e
    }
  }

  on(_: 'message', listener: ProviderListener): this {
    this.listeners.add(listener)
    return this
  }

  removeListener(_: 'message', listener: ProviderListener): this {
    this.listeners.delete(listener)
    return this
  }

  /** Ends all subscriptions; later requests are refused. */
  close(): void {
    this.isClosed = true
    this.subscriptions.close()
    this.listeners.clear()
  }
}
