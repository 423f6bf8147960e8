// Sending, and waiting for the block (EIP-7966).

import { jsonOf } from '../core/chunks.ts'
import type { Core, Hex } from '../core/port.ts'
import { readBytes } from '../core/results.ts'
import { clientGone, syncTimeout } from './errors.ts'
import type { HandlerContext } from './method.ts'

/** Default time of the wait (go-ethereum's), in milliseconds. */
const WAIT_MS = 20_000

/** Longest wait (go-ethereum's default), in milliseconds. */
const WAIT_MS_MAX = 60_000

/** The receipt; undefined where there is none yet. */
async function receipt(core: Core, hash: Hex): Promise<Uint8Array | undefined> {
  const bytes = await readBytes(core, 'getTransactionReceipt', { hash })
  return bytes.length === 4 && jsonOf(bytes) === null ? undefined : bytes
}

/** Time of the wait for a receipt with a client's `timeout`, in milliseconds. */
export const waitMsOf = (timeout: Hex | undefined): number =>
  timeout === undefined || Number(timeout) === 0 ? WAIT_MS : Math.min(Number(timeout), WAIT_MS_MAX)

/**
 * Sends a transaction, whose hash `send` gives; its receipt once it is in a block. The wait ends
 * when the client leaves; the transaction stays sent.
 */
export async function sendAndWait(
  { core, follow: { follower }, onDisconnect }: Pick<HandlerContext, 'core' | 'follow' | 'onDisconnect'>,
  send: () => Promise<Uint8Array>,
  timeout: Hex | undefined,
): Promise<Uint8Array> {
  const ms = waitMsOf(timeout)
  const until = Date.now() + ms
  let wake: () => void = () => undefined
  let isGone = false
  onDisconnect?.(() => {
    isGone = true
    wake()
  })
  const stop = await follower.listen({ kind: 'blocks' }, { push: () => wake(), lost: () => wake() })
  try {
    const hash = jsonOf(await send()) as Hex
    for (;;) {
      const left = until - Date.now()
      const changed = new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.max(0, left))
        wake = () => {
          clearTimeout(timer)
          resolve()
        }
        if (isGone) wake()
      })
      const found = await receipt(core, hash)
      if (found !== undefined) {
        wake()
        return found
      }
      if (left <= 0) {
        wake()
        throw syncTimeout(ms, hash)
      }
      await changed
      if (isGone) throw clientGone()
    }
  } finally {
    stop()
  }
}
