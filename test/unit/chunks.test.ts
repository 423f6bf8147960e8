import { expect, it } from 'vitest'
import { allocate, allocateWhole, CHUNK_BYTES_MAX, release, WHOLE_BYTES_MAX } from '../../ts/core/chunks.ts'

it('returned memory is reused, and never shared', () => {
  const first = allocate(CHUNK_BYTES_MAX)
  expect(allocate(CHUNK_BYTES_MAX).buffer).not.toBe(first.buffer)
  release(first)
  const second = allocate(CHUNK_BYTES_MAX - 1)
  expect([second.buffer === first.buffer, second.length]).toEqual([true, CHUNK_BYTES_MAX - 1])
})

it('memory given back twice, or never lent, is lent to nobody', () => {
  const chunk = allocate(CHUNK_BYTES_MAX)
  release(chunk)
  release(chunk)
  const [one, other] = [allocate(CHUNK_BYTES_MAX), allocate(CHUNK_BYTES_MAX)]
  expect(one.buffer).not.toBe(other.buffer)
  const foreign = Buffer.allocUnsafeSlow(CHUNK_BYTES_MAX)
  release(foreign)
  expect(allocate(CHUNK_BYTES_MAX).buffer).not.toBe(foreign.buffer)
})

it('a chunk is as long as was asked for, at most the limit', () => {
  expect([allocate(10).length, allocate(CHUNK_BYTES_MAX * 4).length]).toEqual([10, CHUNK_BYTES_MAX])
})

it('memory for a whole answer is a chunk where that is enough', () => {
  const small = allocateWhole(10)
  const large = allocateWhole(CHUNK_BYTES_MAX + 1)
  expect([small.length, large.length, allocateWhole(WHOLE_BYTES_MAX).length]).toEqual([CHUNK_BYTES_MAX, WHOLE_BYTES_MAX, WHOLE_BYTES_MAX])
  release(large.subarray(7, 9))
  release(small)
  expect(allocateWhole(WHOLE_BYTES_MAX).buffer).toBe(large.buffer)
  expect(allocate(CHUNK_BYTES_MAX).buffer).toBe(small.buffer)
})
