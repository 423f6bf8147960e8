import { describe, expect, it } from 'vitest'
import { duration, progressLine, rates } from '../../ts/cli/progress.ts'

describe('progress', () => {
  it('shows share, height, rates and time left', () => {
    const progress = { blocks: 500, gas: 2_500_000_000, done: 250, total: 1000, height: 499 }
    expect(progressLine(progress, 10_000, false)).toBe('25.0 %, block 499, 50.0 blocks/s, 250.0 Mgas/s, 30s left')
    expect(progressLine(progress, 10_000, true)).toBe('[######..................] 25.0 %, block 499, 50.0 blocks/s, 250.0 Mgas/s, 30s left')
    expect(progressLine({ ...progress, done: 1000 }, 10_000, true)).toBe(
      `[${'#'.repeat(24)}] 100.0 %, block 499, 50.0 blocks/s, 250.0 Mgas/s`,
    )
  })

  it('before anything is known', () => {
    expect(progressLine({ blocks: 0, gas: 0, done: 0, total: 0, height: null }, 0, false)).toBe('0.0 %, 0.0 blocks/s, 0.0 Mgas/s')
    expect(rates(1, 1_000_000, 0)).toBe('1000.0 blocks/s, 1000.0 Mgas/s')
  })

  it('times', () => {
    expect([0, 59_400, 60_000, 187_000, 3_600_000, 3_725_000].map(duration)).toEqual(['0s', '59s', '1m00s', '3m07s', '1h00m', '1h02m'])
  })
})
