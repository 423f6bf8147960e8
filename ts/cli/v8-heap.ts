// V8's heap beside the rest of the node's memory. Answers are bytes outside of it, so that a node under load needs a few ten MiB of it.
import v8 from 'node:v8'

/** Both halves of the young generation, in bytes: V8 doubles them up to 32 MiB where it is let, and seldom gives that back under load. */
export const YOUNG_BYTES = 8 * 1024 * 1024

/** Time between two looks at the young generation, in milliseconds. */
export const LOOK_MS = 200

/** By how much V8 multiplies the halves when they are too small, as it comes and as it keeps them. */
const [GROWS, STAYS] = [2, 1]

const setGrowth = (by: number): void => v8.setFlagsFromString(`--semi-space-growth-factor=${by}`)

/** Puts V8's flags back to what they are at start: V8 takes compiled code only under the flags that it was kept under. */
export const resetFlags = (): void => setGrowth(GROWS)

const youngBytes = (): number => v8.getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0

/**
 * Keeps the young generation from growing further once it has `YOUNG_BYTES`; between two looks it may double once more. It cannot be
 * bounded from the start but by an option of Node's own, and a program cannot give itself one. Gives what ends it.
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

/** What V8's heap may grow to, in bytes: `--max-old-space-size` in NODE_OPTIONS says otherwise, and nothing once the process runs. */
export const heapLimitBytes = (): number => v8.getHeapStatistics().heap_size_limit
