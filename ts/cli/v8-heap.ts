// V8's heap as a part of the node's memory. Answers are bytes outside of it, so a node under load
// needs a few ten MiB of heap.
import v8 from 'node:v8'

/**
 * The size to which V8's heap may grow, in bytes. Only `--max-old-space-size` in NODE_OPTIONS
 * changes it, not anything at run time.
 */
export const heapLimitBytes = (): number => v8.getHeapStatistics().heap_size_limit
