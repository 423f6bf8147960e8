// A method: its name, its parameters with their codecs, and a handler that calls the core.
import type { Core, ResultStream } from '../core/port.ts'
import { BadValue, type Codec, type OverrideLimits, type TraceRules } from './codec/index.ts'
import { invalidParams } from './errors.ts'
import type { FollowLimits, SubscriptionHub } from './follow/index.ts'
import { LongParams } from './long-params.ts'
import type { Network } from './network.ts'
import type { Redirects } from './redirect.ts'
import type { Redirect, Submission } from './submission.ts'
import type { Subscriber } from './subscription.ts'

/**
 * The cost of a method: `read` is a short read, `heavy` executes or searches, `write` changes the
 * node and keeps its position in a batch.
 */
export type Cost = 'read' | 'heavy' | 'write'

/** One positional parameter. */
export interface Param<T> {
  readonly name: string
  readonly codec: Codec<T>
  /** A required one that is absent or null is an error; an optional one is undefined then. */
  readonly required: boolean
  /**
   * What null stands for in a required one: the empty value of a list, a boolean or an object, as
   * go-ethereum (encoding/json) takes it. Absent where null is an error.
   */
  readonly whenNull?: unknown
}

/** A parameter that must be there. */
export const required = <T>(name: string, codec: Codec<T>, whenNull?: unknown): Param<T> & { readonly required: true } => ({
  name,
  codec,
  required: true,
  ...(whenNull === undefined ? {} : { whenNull }),
})

/** A parameter that may be absent or null. */
export const optional = <T>(name: string, codec: Codec<T>): Param<T | undefined> & { readonly required: false } => ({
  name,
  codec,
  required: false,
})

/** What handlers work with. */
export interface Context {
  readonly core: Core
  /** Namespaces that are served, for rpc_modules. */
  readonly namespaces: readonly string[]
  /** What web3_clientVersion answers. */
  readonly clientVersion: string
  /** Methods that are answered as if they did not exist, by name. */
  readonly denied: readonly string[]
  /** Methods of the namespace `chain` that are served, in lower case; none where absent. */
  readonly legacyChain?: ReadonlySet<string> | undefined
  /** The names of the methods that are served; those of the namespaces where absent. */
  readonly only?: ReadonlySet<string> | undefined
  /** What traces may be. */
  readonly trace: TraceRules
  /** What state overrides may hold. */
  readonly overrides: OverrideLimits
  /** What becomes of transactions that clients send. */
  readonly submission: Submission
  /**
   * Sends transactions to the validators that their senders belong to; absent where they stay here.
   */
  readonly redirects?: Redirects | undefined
  /** What filters and subscriptions may take. */
  readonly following: FollowLimits
  /** Where this request may begin and end subscriptions; absent where its transport has none. */
  readonly subscriber?: Subscriber | undefined
  /** The other nodes; absent where there are none. */
  readonly network?: Network | undefined
}

/** What handlers work with, and what belongs to one request. */
export interface HandlerContext extends Context {
  /** Filters and subscriptions of the node. */
  readonly follow: SubscriptionHub
  /**
   * The client's address; absent if the method keeps nothing for a client, or the request is this
   * process's own.
   */
  readonly client?: string | undefined
  /** Sends a request to the validator of a sender; absent where the request stays here. */
  readonly redirect?: Redirect | undefined
  /**
   * Calls back when the client has left; at once if it has already. Absent where the request cannot
   * be ended.
   */
  readonly onDisconnect?: ((callback: () => void) => void) | undefined
  /** Reports a probable mistake in the request; absent if the client cannot be warned. */
  readonly warn?: ((warning: string) => void) | undefined
}

/** The JSON of a result: its bytes or, of a short one, its text; or a stream of bytes. */
export type Result = Uint8Array | string | ResultStream

/** A method with its parameter types erased, as the table holds it. */
export interface Method {
  readonly name: string
  readonly doc: string
  /** Type of the result, for docs/rpc.md. */
  readonly result: string
  readonly cost: Cost
  /** Whether something of the client is kept beyond the answer: a filter, a subscription. */
  readonly keeps: boolean
  readonly params: readonly Param<unknown>[]
  /** Checks the parameters and runs the handler; throws `RpcError` -32602 where they do not fit. */
  readonly call: (context: HandlerContext, params: unknown) => Promise<Result> | Result
}

type Values<P extends readonly Param<unknown>[]> = { -readonly [I in keyof P]: P[I] extends Param<infer T> ? T : never }

/** Defines a method. */
export function method<const P extends readonly Param<unknown>[]>(definition: {
  readonly name: string
  readonly doc: string
  readonly result: string
  readonly cost: Cost
  readonly keeps?: true
  readonly params: P
  readonly handle: (context: HandlerContext, ...args: Values<P>) => Promise<Result> | Result
}): Method {
  const { name, doc, result, cost, keeps = false, params, handle } = definition
  const call = (context: HandlerContext, values: unknown) => handle(context, ...(decodeParams(params, values) as Values<P>))
  return { name, doc, result, cost, keeps, params, call }
}

/**
 * Positional parameters through their codecs; refusals have go-ethereum's texts, with the
 * parameter's name added.
 */
export function decodeParams(params: readonly Param<unknown>[], values: unknown): unknown[] {
  if (values !== undefined && values !== null && !Array.isArray(values)) {
    if (values instanceof LongParams) return values.decoded((inner) => decodeParams(params, inner))
    throw invalidParams('non-array args')
  }
  const given: readonly unknown[] = values ?? []
  const decoded = given.map((value, i) => {
    const param = params[i]
    if (param === undefined) throw invalidParams(`too many arguments, want at most ${params.length}`)
    if (value === null && param.whenNull === undefined) return absent(param, i)
    try {
      return param.codec(value ?? param.whenNull)
    } catch (e) {
      throw e instanceof BadValue ? invalidParams(`invalid argument ${i}: ${e.within(param.name).message}`) : e
    }
  })
  for (let i = given.length; i < params.length; i++) decoded.push(absent(params[i] as Param<unknown>, i))
  return decoded
}

function absent(param: Param<unknown>, index: number): undefined {
  if (param.required) throw invalidParams(`missing value for required argument ${index}`)
  return undefined
}

const encoder = new TextEncoder()

/** A value of this layer's own (a version, a list of names) as a result. */
export const json = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value))
