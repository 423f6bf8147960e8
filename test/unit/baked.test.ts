// How many blocks are baked, from the rows of the trace cache.
import { expect, it } from 'vitest'
import { bakedCount, bakingOf, cacheRows } from '../../ts/cli/baked.ts'
import { resolveSettings } from '../../ts/config/index.ts'
import { fakeCore } from './fake-core.ts'

const settingsOf = (flags: Record<string, string>) => resolveSettings({ flags: new Map(Object.entries(flags)) }).settings
const core = (oldestBlock: string) => fakeCore({ capabilities: JSON.stringify({ blocks: { oldestBlock } }) })
const ON = { 'evm.trace_bake_enabled': 'true' }
const ALL = { ...ON, 'evm.trace_bake_tracers': 'callTracer,prestateTracer,flatCallTracer' }

it('a block has a row per tracer, and for those with options', async () => {
  expect(await bakingOf(core('0x0'), settingsOf({}))).toBeUndefined()
  expect(await bakingOf(core('0x0'), settingsOf(ON))).toEqual({ rowsPerBlock: 1, firstBlock: 1, windowBlocks: 0 })
  const more = settingsOf({ ...ALL, 'evm.trace_bake_canonical_configs': 'true', 'evm.trace_bake_window_blocks': '7' })
  expect(await bakingOf(core('0x10'), more)).toEqual({ rowsPerBlock: 5, firstBlock: 16, windowBlocks: 7 })
  const parity = settingsOf({ ...ON, 'evm.trace_bake_further_tracers': 'parityTracer' })
  expect(await bakingOf(core('0x0'), parity)).toMatchObject({ rowsPerBlock: 3 })
})

it.each([
  [{ rowsPerBlock: 1, firstBlock: 1, windowBlocks: 0 }, 0, 54, { baked: 0, of: 54 }],
  [{ rowsPerBlock: 3, firstBlock: 1, windowBlocks: 0 }, 17, 54, { baked: 5, of: 54 }],
  [{ rowsPerBlock: 1, firstBlock: 1, windowBlocks: 0 }, 60, 54, { baked: 54, of: 54 }],
  [{ rowsPerBlock: 1, firstBlock: 100, windowBlocks: 0 }, 1, 100, { baked: 1, of: 1 }],
  [{ rowsPerBlock: 1, firstBlock: 1, windowBlocks: 10 }, 12, 54, { baked: 10, of: 10 }],
  [{ rowsPerBlock: 1, firstBlock: 1, windowBlocks: 0 }, 0, 0, { baked: 0, of: 0 }],
])('%j with %d rows at height %d', (baking, rows, height, count) => {
  expect(bakedCount(baking, rows, height)).toEqual(count)
})

it('rows are those of the cache alone', () => {
  const series = (table: string, value: number) => ({ labels: { table }, value })
  const families = [
    { name: 'litt_table_size_bytes', series: [series('traces', 9)] },
    { name: 'litt_table_key_count', series: [series('blocks', 12), series('traces', 5)] },
  ]
  expect(cacheRows({ ...core('0x0'), metricsSnapshot: () => JSON.stringify(families) })).toBe(5)
  expect(cacheRows({ ...core('0x0'), metricsSnapshot: () => '[]' })).toBe(0)
})
