// Calls methods within this process: the same way as over a socket, without text around it.
import { bodyText } from '../core/chunks.ts'
import { type Client, THIS_PROCESS } from './client.ts'
import { RpcError, toRpcError } from './errors.ts'
import { Invoker, type Report } from './invoke.ts'
import { NO_METER, Sample } from './meter.ts'
import type { Context } from './method.ts'
import type { Subscriber } from './subscription.ts'

/** What goes with one call. */
export interface CallOptions {
  /** Where it may begin subscriptions. */
  readonly subscriber?: Subscriber | undefined
  /** Takes what ends the work; without it the work cannot be ended. */
  readonly onDisconnect?: ((cancel: () => void) => void) | undefined
}

/** Calls a method; resolves to the JSON value of its result, rejects with `RpcError`. */
export type Caller = (method: string, params: unknown, options?: CallOptions) => Promise<unknown>

/** The result alone, and never in gzip. */
const BARE = { head: '', tail: '' } as const

/** A client that never leaves. */
const ENDLESS: Client = { connection: 'http', onDisconnect: () => undefined }

/** Makes the caller of a node. Failures that are this program's fault go to `report`. */
export function makeCaller(given: Context, report: Report): Caller {
  const invoker = new Invoker(given, report, NO_METER)
  return async (method, params, { subscriber, onDisconnect } = {}) => {
    const client = onDisconnect === undefined ? ENDLESS : ({ connection: 'http', address: THIS_PROCESS, onDisconnect } as const)
    const sample = new Sample(NO_METER, method, client, 0)
    try {
      const body = await invoker.invoke(method, params, { client, sample, subscriber, headers: {}, id: '', options: BARE })
      return JSON.parse(await bodyText(body))
    } catch (e) {
      throw e instanceof RpcError ? e : toRpcError(e, report)
    }
  }
}
