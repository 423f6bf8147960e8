// Calls methods within this process: the same table, codecs and errors as over a socket, without text around them.
import { streamText, textOf } from '../core/chunks.ts'
import type { ResultStream } from '../core/port.ts'
import { toRpcError } from './errors.ts'
import { Following } from './follow/index.ts'
import type { Context, Method, Result, Surroundings } from './method.ts'
import type { Subscriber } from './subscription.ts'
import { methodTable, servedMethod, servedNamespaces } from './table.ts'

/** What goes with one call. */
export interface CallOptions {
  /** Where it may begin subscriptions. */
  readonly subscriber?: Subscriber | undefined
  /** Told of the stream of a result that comes in parts, so that it can be ended. */
  readonly onStream?: ((stream: ResultStream) => void) | undefined
}

/** Calls a method; resolves to the JSON value of its result, rejects with `RpcError`. */
export type Caller = (method: string, params: unknown, options?: CallOptions) => Promise<unknown>

async function jsonOf(result: Result, { onStream }: CallOptions): Promise<unknown> {
  if (typeof result === 'string') return JSON.parse(result)
  if (result instanceof Uint8Array) return JSON.parse(textOf(result))
  onStream?.(result)
  return JSON.parse(await streamText(result))
}

/** Makes the caller of a node. Failures that are this program's fault are told to `report`. */
export function makeCaller(given: Context, report: (e: unknown) => void): Caller {
  const namespaces = servedNamespaces(given.namespaces, given.core.dev)
  const context: Surroundings = { ...given, namespaces, follow: new Following(given.core, given.following, report) }
  const table: ReadonlyMap<string, Method> = methodTable(namespaces, given.denied, undefined, given.legacyChain)
  return async (name, params, options = {}) => {
    try {
      const method = servedMethod(table, name)
      const { subscriber } = options
      return await jsonOf(await method.call(subscriber === undefined ? context : { ...context, subscriber }, params), options)
    } catch (e) {
      throw toRpcError(e, report)
    }
  }
}
