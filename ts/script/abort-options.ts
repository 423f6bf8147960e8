// The limits of a script's work: a signal and a time.
import type { Core } from '../core/port.ts'
import { TimeoutError } from './errors.ts'

/** What ends the work early. */
export interface AbortOptions {
  /** Ends the work; it rejects with the signal's reason then. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds after which the work is ended with `TimeoutError`. Default: none. */
  readonly timeout?: number | undefined
}

/** Longest time that timers take, in milliseconds. */
const TIMEOUT_MS_MAX = 2 ** 31 - 1

/** Throws the reason if the signal is aborted. */
export function checkSignal({ signal }: AbortOptions): void {
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
 * Awaits work within its limits. `cancel` is called once if a limit ends it, and cancels the
 * work, whose later result is dropped.
 */
export async function within<T>(limits: AbortOptions, work: () => Promise<T>, cancel: () => void = () => undefined): Promise<T> {
  const { signal, timeout } = limits
  checkSignal(limits)
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
