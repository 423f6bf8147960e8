// The clock that ends waits in which nothing comes.
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { IdleClock, type Waiter } from '../../ts/server/idle.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A wait, and whether it was ended. */
function wait(clock: IdleClock): Waiter & { stalls: number } {
  const waiter = { stalls: 0, lastMs: performance.now(), stalled: () => void waiter.stalls++ }
  clock.begin(waiter)
  return waiter
}

it('a wait ends after the limit, not before, and once', () => {
  const clock = new IdleClock(100)
  const first = wait(clock)
  vi.advanceTimersByTime(60)
  const second = wait(clock)
  vi.advanceTimersByTime(39)
  expect([first.stalls, second.stalls]).toEqual([0, 0])
  vi.advanceTimersByTime(2)
  expect([first.stalls, second.stalls]).toEqual([1, 0])
  vi.advanceTimersByTime(60)
  expect([first.stalls, second.stalls]).toEqual([1, 1])
  vi.advanceTimersByTime(1000)
  expect([first.stalls, second.stalls, vi.getTimerCount()]).toEqual([1, 1, 0])
})

it('arriving bytes restart the limit; ended waits are ignored', () => {
  const clock = new IdleClock(100)
  const slow = wait(clock)
  const over = wait(clock)
  clock.end(over)
  for (let i = 0; i < 5; i++) {
    vi.advanceTimersByTime(80)
    slow.lastMs = performance.now()
  }
  expect([slow.stalls, over.stalls]).toEqual([0, 0])
  vi.advanceTimersByTime(101)
  expect([slow.stalls, over.stalls]).toEqual([1, 0])
})

it('without a limit nothing is watched', () => {
  const clock = new IdleClock(0)
  const waiter = wait(clock)
  vi.advanceTimersByTime(1e9)
  expect([waiter.stalls, vi.getTimerCount()]).toEqual([0, 0])
})
