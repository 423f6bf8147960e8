// Options that end the wait of a script: an abort signal and a timeout.
import type { Core } from '../core/port.ts'
import { THIS_PROCESS } from '../rpc/client.ts'
import { TimeoutError } from './errors.ts'

/** Signal and timeout of a call. */
export interface AbortOptions {
  /** Ends the work; it rejects with the signal's reason then. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds after which the work is ended with `TimeoutError`. Default: none. */
  readonly timeout?: number | undefined
}

/** Maximum delay of a timer, in milliseconds. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/** Whether a call may be ended before it is done. */
export const mayEnd = ({ signal, timeout }: AbortOptions): boolean => signal !== undefined || timeout !== undefined

/** Throws the reason of the signal if it is aborted. */
export function checkSignal({ signal }: AbortOptions): void {
  if (signal?.aborted === true) throw signal.reason
}

/** The end of one call: what ends its work is called once, at once where the call has ended. */
export class Ending {
  private callbacks: (() => void)[] = []
  private isOver = false

  readonly onDisconnect = (callback: () => void): void => {
    if (this.isOver) callback()
    else this.callbacks.push(callback)
  }

  readonly end = (): void => {
    this.isOver = true
    for (const callback of this.callbacks.splice(0)) callback()
  }
}

/** A core for one long call, with a function that ends the call, if the core supports that. */
export function abortable(core: Core): { readonly caller: Core; readonly end: () => void } {
  const { onDisconnect, end } = new Ending()
  const caller = { address: THIS_PROCESS, onDisconnect, historical: () => undefined }
  return { caller: core.withCaller?.(caller) ?? core, end }
}

/**
 * Awaits work until the signal or the timeout. In that case `cancel` is called once, and a later
 * result of the work is dropped.
 */
export async function within<T>(abort: AbortOptions, work: () => Promise<T>, cancel: () => void = () => undefined): Promise<T> {
  const { signal, timeout } = abort
  checkSignal(abort)
  if (!mayEnd(abort)) return await work()
  let forget = (): void => undefined
  const over = new Promise<never>((_, reject) => {
    const end = (why: unknown): void => {
      cancel()
      reject(why)
    }
    const onAbort = (): void => end(signal?.reason)
    signal?.addEventListener('abort', onAbort, { once: true })
    const timer =
      timeout === undefined
        ? undefined
        : setTimeout(() => end(new TimeoutError('timeout', `not done within ${timeout} ms`)), Math.min(timeout, TIMEOUT_MS_MAX))
    forget = () => {
      signal?.removeEventListener('abort', onAbort)
      clearTimeout(timer)
    }
  })
  try {
    return await Promise.race([work(), over])
  } finally {
    forget()
  }
}
