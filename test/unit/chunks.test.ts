import { expect, it } from 'vitest'
import { CHUNK_BYTES_MAX, giveBack, lend, lendWhole, WHOLE_BYTES_MAX } from '../../ts/core/chunks.ts'

it('returned memory is reused, and never shared', () => {
  const first = lend(CHUNK_BYTES_MAX)
  expect(lend(CHUNK_BYTES_MAX).buffer).not.toBe(first.buffer)
  giveBack(first)
  const second = lend(CHUNK_BYTES_MAX - 1)
  expect([second.buffer === first.buffer, second.length]).toEqual([true, CHUNK_BYTES_MAX - 1])
})

it('memory given back twice, or never lent, is lent to nobody', () => {
  const chunk = lend(CHUNK_BYTES_MAX)
  giveBack(chunk)
  giveBack(chunk)
  const [one, other] = [lend(CHUNK_BYTES_MAX), lend(CHUNK_BYTES_MAX)]
  expect(one.buffer).not.toBe(other.buffer)
  const foreign = Buffer.allocUnsafeSlow(CHUNK_BYTES_MAX)
  giveBack(foreign)
  expect(lend(CHUNK_BYTES_MAX).buffer).not.toBe(foreign.buffer)
})

it('a chunk is as long as was asked for, at most the limit', () => {
  expect([lend(10).length, lend(CHUNK_BYTES_MAX * 4).length]).toEqual([10, CHUNK_BYTES_MAX])
})

it('memory for a whole answer is a chunk where that is enough', () => {
  const small = lendWhole(10)
  const large = lendWhole(CHUNK_BYTES_MAX + 1)
  expect([small.length, large.length, lendWhole(WHOLE_BYTES_MAX).length]).toEqual([CHUNK_BYTES_MAX, WHOLE_BYTES_MAX, WHOLE_BYTES_MAX])
  giveBack(large.subarray(7, 9))
  giveBack(small)
  expect(lendWhole(WHOLE_BYTES_MAX).buffer).toBe(large.buffer)
  expect(lend(CHUNK_BYTES_MAX).buffer).toBe(small.buffer)
})
