// Waiting for conditions instead of for fixed times, and work whose size depends on the machine: a
// fast machine finishes any constant amount too soon, and a busy one exceeds any constant time.

/**
 * A wait that takes this long has failed, in milliseconds; less than a test may take, so that the
 * failure names the awaited condition.
 */
export const PATIENCE_MS = 200_000

/** Waits for so many milliseconds. */
export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** What is awaited; a function where it shows what was found, which is read at the failure. */
export type Expectation = string | (() => string)

/** Waits until a condition holds. */
export async function until(what: Expectation, holds: () => boolean | Promise<boolean>, pollMs = 20): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; !(await holds()); await sleep(pollMs)) {
    if (performance.now() > end) throw new Error(`not in ${PATIENCE_MS} ms: ${typeof what === 'string' ? what : what()}`)
  }
}

/** Waits until a reading has not changed for `quietMs` milliseconds; resolves to it. */
export async function settled<T>(what: string, read: () => T | Promise<T>, quietMs = 500): Promise<T> {
  let last = await read()
  await until(`the end of changes: ${what}`, async () => {
    await sleep(quietMs)
    const now = await read()
    const isSame = JSON.stringify(now) === JSON.stringify(last)
    last = now
    return isSame
  })
  return last
}

/** Bounds of a search for a size. */
export interface SizeRange {
  readonly from: number
  /** Sizes above it are not tried: the search fails. */
  readonly most: number
}

/** Doubles a size from `from` on until `isEnough` returns true; resolves to that size. */
export async function doubled(
  what: string,
  { from, most }: SizeRange,
  isEnough: (size: number) => boolean | Promise<boolean>,
): Promise<number> {
  for (let size = from; size <= most; size *= 2) if (await isEnough(size)) return size
  throw new Error(`no size up to ${most} is enough: ${what}`)
}

/** The size from which on a piece of work takes at least so many milliseconds on this machine. */
export const sizeTaking = (ms: number, range: SizeRange, run: (size: number) => Promise<unknown>): Promise<number> =>
  doubled(`work that takes ${ms} ms`, range, async (size) => {
    const began = performance.now()
    await run(size)
    return performance.now() - began >= ms
  })
