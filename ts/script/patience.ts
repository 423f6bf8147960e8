// How long a script waits: until it is done, a signal says otherwise, or a time is over.
import type { Core } from '../core/port.ts'
import { TimeoutError } from './errors.ts'

/** How long to wait. */
export interface Patience {
  /** Ends the work; it rejects with the signal's reason then. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds after which the work is ended with `TimeoutError`. Default: none. */
  readonly timeout?: number | undefined
}

/** Longest time that timers take, in milliseconds. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/** Throws what ended the work, where something did. */
export function checkSignal({ signal }: Patience): void {
  if (signal?.aborted === true) throw signal.reason
}

/** A core for one piece of long work, and what ends that: nothing where the core cannot. */
export function endable(core: Core): { readonly asked: Core; readonly end: () => void } {
  let gone = (): void => undefined
  const asker = {
    address: '',
    onGone: (callback: () => void) => {
      gone = callback
    },
    historical: () => undefined,
  }
  return { asked: core.askedBy?.(asker) ?? core, end: () => gone() }
}

/**
 * Awaits work within patience. `cancel` is called once if patience ends first, and cancels the
 * work, whose later result is dropped.
 */
export async function within<T>(patience: Patience, work: () => Promise<T>, cancel: () => void = () => undefined): Promise<T> {
  const { signal, timeout } = patience
  checkSignal(patience)
  if (signal === undefined && timeout === undefined) return await work()
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
