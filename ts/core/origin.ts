// What a fork asks of the chain that it goes on from, and how the core's threads reach who asks.
import * as native from '../../native/index.js'

/** One JSON-RPC request: method and parameters. */
export type OriginRequest = readonly [method: string, params: readonly unknown[]]

/**
 * Asks requests that belong together and resolves to their results, in order. Rejects, with a message for whoever needed them, where one
 * of them has no result within so many milliseconds.
 */
export type AskOrigin = (requests: readonly OriginRequest[], timeoutMs: number) => Promise<readonly unknown[]>

/** What a core thread asks, as it crosses. */
interface Asked {
  readonly id: number
  readonly requests: readonly OriginRequest[]
  readonly timeoutMs: number
}

/** The door for core threads: they wait at it while `ask` asks. */
export function originDoor(ask: AskOrigin): native.NativeOrigin {
  const door: native.NativeOrigin = new native.NativeOrigin((text: string) => {
    const { id, requests, timeoutMs } = JSON.parse(text) as Asked
    ask(requests, timeoutMs).then(
      (results) => door.answer(id, JSON.stringify(results)),
      (e: unknown) => door.fail(id, e instanceof Error ? e.message : String(e)),
    )
  })
  return door
}
