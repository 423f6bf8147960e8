// V8's young generation under a load that would double it repeatedly, with the option of the
// examples of operators and without it.
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { heapLimitBytes } from '../../ts/cli/v8-heap.ts'

/** Both halves of the young generation with the option, in bytes. */
const YOUNG_BYTES = 8 * 1024 * 1024

/**
 * Makes garbage of which much survives for a moment, as requests in progress do, and prints the
 * peak size of the young generation.
 */
const LOAD = `
  import v8 from 'node:v8'
  const young = () => v8.getHeapSpaceStatistics().find((s) => s.space_name === 'new_space').space_size
  const ring = new Array(8_000)
  let most = 0
  for (let round = 0; round < 300; round++) {
    for (let i = 0; i < 8_000; i++) ring[i] = { round, of: [i] }
    most = Math.max(most, young())
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  console.log(most)
`

const most = (...options: string[]): number => {
  const { stdout, stderr } = spawnSync(process.execPath, [...options, '--input-type=module', '-e', LOAD], { encoding: 'utf8' })
  expect(stderr).toBe('')
  return Number(stdout)
}

describe('the young generation', () => {
  it('does not grow with the option, and does without it', () => {
    expect(most()).toBe(4 * YOUNG_BYTES)
    expect(most('--max-semi-space-size=4')).toBeLessThanOrEqual(YOUNG_BYTES)
  })

  it('is a small part of what the heap may have', () => {
    expect(heapLimitBytes()).toBeGreaterThan(8 * YOUNG_BYTES)
  })
})
