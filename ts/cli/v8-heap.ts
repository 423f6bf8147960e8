// V8's heap as a part of the node's memory. Answers are bytes outside of it, so a node under load
// needs a few ten MiB of heap.
import v8 from 'node:v8'

/**
 * Both halves of the young generation, in bytes: V8 would double them up to 32 MiB, and seldom
 * shrink them under load.
 */
export const YOUNG_BYTES = 8 * 1024 * 1024

/** Time between two looks at the young generation, in milliseconds. */
export const LOOK_MS = 200

/**
 * The factor by which V8 grows the halves when they are too small: its default, and the one that
 * keeps their size.
 */
const [GROWS, STAYS] = [2, 1]

const setGrowth = (by: number): void => v8.setFlagsFromString(`--semi-space-growth-factor=${by}`)

/**
 * Resets V8's flags to those at start: V8 accepts cached code only under the flags of its
 * compilation.
 */
export const resetFlags = (): void => setGrowth(GROWS)

const youngBytes = (): number => v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0

/**
 * Keeps the young generation from growing further once it has `YOUNG_BYTES`; between two checks it
 * may double once more. Only an option of Node's own could bound it from the start, which a program
 * cannot set for itself. Returns the function that ends it.
 */
export function boundYoungHeap(): () => void {
  let growth = GROWS
  const grow = (by: number): void => {
    if (by !== growth) setGrowth(by)
    growth = by
  }
  const timer = setInterval(() => grow(youngBytes() < YOUNG_BYTES ? GROWS : STAYS), LOOK_MS).unref()
  return () => {
    clearInterval(timer)
    grow(GROWS)
  }
}

/**
 * The size to which V8's heap may grow, in bytes. Only `--max-old-space-size` in NODE_OPTIONS
 * changes it, not anything at run time.
 */
export const heapLimitBytes = (): number => v8.getHeapStatistics().heap_size_limit
