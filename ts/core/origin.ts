// The requests of a fork to its remote node, and how the core's threads reach the fetcher.
import * as native from '../../native/index.js'

/** One JSON-RPC request: method and parameters. */
export type OriginRequest = readonly [method: string, params: readonly unknown[]]

/**
 * Sends requests that belong together and resolves to their results, in order. Rejects with a
 * message if one of them has no result within so many milliseconds.
 */
export type FetchOrigin = (requests: readonly OriginRequest[], timeoutMs: number) => Promise<readonly unknown[]>

/** Whether an answer of eth_getProof proves what an account of the state with this root is. */
export const provesAccount = (stateRoot: string, address: string, proof: unknown): boolean =>
  native.provesAccount(stateRoot, address, JSON.stringify(proof) ?? '')

/** A request of a core thread in its transferred form. */
interface FetchRequest {
  readonly id: number
  readonly requests: readonly OriginRequest[]
  readonly timeoutMs: number
}

/** The native side of a fetcher: core threads wait while `ask` fetches. */
export function nativeFetcher(ask: FetchOrigin): native.NativeOrigin {
  const fetcher: native.NativeOrigin = new native.NativeOrigin((text: string) => {
    const { id, requests, timeoutMs } = JSON.parse(text) as FetchRequest
    ask(requests, timeoutMs).then(
      (results) => fetcher.answer(id, JSON.stringify(results)),
      (e: unknown) => fetcher.fail(id, e instanceof Error ? e.message : String(e)),
    )
  })
  return fetcher
}
