// V8's young generation stays small under a load that would double it repeatedly, and may grow
// again once the bound is lifted.
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { heapLimitBytes, YOUNG_BYTES } from '../../ts/cli/v8-heap.ts'

const MODULE = path.join(import.meta.dirname, '../../dist/cli/v8-heap.js')

/**
 * Makes garbage of which much survives for a moment, as requests in progress do, and prints the
 * peak size of the young generation.
 */
const LOAD = `
  import v8 from 'node:v8'
  import { boundYoungHeap } from ${JSON.stringify(MODULE)}
  const end = process.argv[1] === 'bounded' ? boundYoungHeap() : () => undefined
  if (process.argv[2] === 'ended') end()
  const young = () => v8.getHeapSpaceStatistics().find((s) => s.space_name === 'new_space').space_size
  const ring = new Array(8_000)
  let most = 0
  for (let round = 0; round < 300; round++) {
    for (let i = 0; i < 8_000; i++) ring[i] = { round, of: [i] }
    most = Math.max(most, young())
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  console.log(most)
`

const most = (...args: string[]): number => {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', LOAD, ...args], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return Number(stdout)
}

describe('the young generation', () => {
  it('does not keep on growing, and does without a bound', () => {
    const free = most('free', 'going')
    expect(free).toBe(4 * YOUNG_BYTES)
    // It may double once more between two looks.
    expect(most('bounded', 'going')).toBeLessThanOrEqual(2 * YOUNG_BYTES)
    expect(most('bounded', 'ended')).toBe(free)
  })

  it('is a small part of what the heap may have', () => {
    expect(heapLimitBytes()).toBeGreaterThan(8 * YOUNG_BYTES)
  })
})
