// Helpers of the whole-node tests: sizes that are found by doubling, waiting, and peers that decide
// nothing.
import { afterEach, describe, expect, it, vi } from 'vitest'
import { onPeer } from '../e2e/peer.ts'
import { doubled, PATIENCE_MS, settled, sizeTaking, sleep, until } from '../e2e/waiting.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe('sizes', () => {
  it('are doubled until they are enough', async () => {
    const tried: number[] = []
    const isEnough = (size: number): boolean => tried.push(size) > 0 && size >= 20
    expect(await doubled('twenty', { from: 3, most: 100 }, isEnough)).toBe(24)
    expect(tried).toEqual([3, 6, 12, 24])
    await expect(doubled('too much', { from: 3, most: 16 }, isEnough)).rejects.toThrow('no size up to 16 is enough: too much')
  })

  it('are those of work that takes so long', async () => {
    const size = await sizeTaking(40, { from: 1, most: 1024 }, (ms) => sleep(ms))
    expect(size).toBeGreaterThan(1)
    expect(size).toBeLessThanOrEqual(64)
  })
})

describe('waiting', () => {
  it('ends when the condition holds', async () => {
    let looks = 0
    await until('three looks', () => ++looks === 3, 1)
    expect(looks).toBe(3)
  })

  it('fails with the name of what never came', async () => {
    vi.useFakeTimers()
    const ended = expect(until('a miracle', () => false, 1000)).rejects.toThrow(`not in ${PATIENCE_MS} ms: a miracle`)
    await vi.advanceTimersByTimeAsync(PATIENCE_MS + 2000)
    await ended
  })

  it('gives a reading that has come to rest', async () => {
    const readings = [1, 2, 3]
    expect(await settled('numbers', () => readings.shift() ?? 4, 1)).toBe(4)
  })
})

describe('another node', () => {
  it('that fails is a line, and no failure', async () => {
    const said = vi.spyOn(console, 'log').mockImplementation(() => undefined)
    const failed = onPeer('anvil', 'a test', async () => expect(1).toBe(2))
    expect(await failed).toBeUndefined()
    expect(said.mock.calls).toEqual([[expect.stringMatching(/^peer: anvil: a test: .*expected 1 to be 2/)]])
  })

  it('that is late is a line, and no failure', async () => {
    vi.useFakeTimers()
    const said = vi.spyOn(console, 'log').mockImplementation(() => undefined)
    const late = onPeer('geth', 'its start', () => new Promise(() => undefined))
    await vi.advanceTimersByTimeAsync(300_000)
    expect(await late).toBeUndefined()
    expect(said.mock.calls).toEqual([['peer: geth: its start: not in 200000 ms']])
  })

  it('that does what is expected says nothing', async () => {
    const said = vi.spyOn(console, 'log').mockImplementation(() => undefined)
    expect(await onPeer('anvil', 'a test', async () => 7)).toBe(7)
    expect(said).not.toHaveBeenCalled()
  })
})
