// The number of baked blocks of a home: rows of the trace cache, which has one per block and baked
// tracer. Rows of blocks that left the chain, and of tracers that are not baked any more, count
// until they are pruned.

import type { Settings } from '../config/index.ts'
import type { Core } from '../core/port.ts'
import { readJson } from '../core/results.ts'

/** The instrument, and the table, whose keys are the rows of the trace cache. */
export const ROWS_INSTRUMENT = 'litt_table_key_count'
export const ROWS_TABLE = 'traces'

/**
 * Tracers that are also baked with options under evm.trace_bake_canonical_configs: callTracer
 * withLog, prestateTracer diffMode.
 */
const WITH_OPTIONS: readonly string[] = ['callTracer', 'prestateTracer']

/** What a node that bakes does, as `data/node.json` has it. */
export interface Baking {
  /** Rows of the trace cache that a block has. */
  readonly rowsPerBlock: number
  /** The first block that can be baked. */
  readonly firstBlock: number
  /** Newest blocks whose rows are kept; 0 is all. */
  readonly windowBlocks: number
}

/** Blocks that are baked, of those that can be. */
export interface BakedCount {
  readonly baked: number
  readonly of: number
}

/** What a node bakes under its settings; undefined where it bakes nothing. */
export async function bakingOf(core: Core, settings: Settings): Promise<Baking | undefined> {
  if (!settings['evm.trace_bake_enabled']) return undefined
  const answer = await readJson(core, 'capabilities', undefined)
  const tracers = settings['evm.trace_bake_tracers']
  const more = settings['evm.trace_bake_canonical_configs'] ? tracers.filter((name) => WITH_OPTIONS.includes(name)).length : 0
  // parityTracer has two forms.
  const further = 2 * settings['evm.trace_bake_further_tracers'].length
  return {
    rowsPerBlock: tracers.length + more + further,
    // Block 0 is not executed.
    firstBlock: Math.max(1, Number(answer.blocks.oldestBlock)),
    windowBlocks: settings['evm.trace_bake_window_blocks'],
  }
}

/** The count, from the rows of the cache and the height of the head. */
export function bakedCount({ rowsPerBlock, firstBlock, windowBlocks }: Baking, rows: number, height: number): BakedCount {
  const blocks = Math.max(0, height + 1 - firstBlock)
  const of = windowBlocks === 0 ? blocks : Math.min(blocks, windowBlocks)
  return { baked: Math.min(of, Math.floor(rows / rowsPerBlock)), of }
}

/** Rows of the trace cache of an open core. */
export function cacheRows(core: Core): number {
  type Family = { readonly name: string; readonly series: readonly { readonly labels: Record<string, string>; readonly value?: number }[] }
  const families = JSON.parse(core.metricsSnapshot()) as readonly Family[]
  const series = families.find(({ name }) => name === ROWS_INSTRUMENT)?.series ?? []
  return series.find(({ labels }) => labels.table === ROWS_TABLE)?.value ?? 0
}

/** The command that bakes what is not baked. */
export const bakeCommand = (home: string): string => `hearth bake --home ${home}`
