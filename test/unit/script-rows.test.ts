// Items that are read in batches: each comes once and in order, however many are requested at once.
import { expect, it } from 'vitest'
import { readAhead } from '../../ts/script/reading/rows.ts'

/** The numbers below `count`, three in a batch. */
const numbers = (count: number) =>
  readAhead(
    async () => 0,
    async (from: number) => {
      const items = [from, from + 1, from + 2].filter((n) => n < count)
      return { items, next: from + 3 < count ? from + 3 : undefined }
    },
    {},
  )

it('items requested at once come once each, in order', async () => {
  const iterator = numbers(10)[Symbol.asyncIterator]()
  const all = await Promise.all(Array.from({ length: 12 }, () => iterator.next()))
  expect(all.map(({ value }) => value)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, undefined, undefined])
  expect(all.map(({ done }) => done)).toEqual([...Array.from({ length: 10 }, () => false), true, true])
})

it('items requested one after the other are the same', async () => {
  expect(await numbers(10).toArray()).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  const found: number[] = []
  for await (const n of numbers(7)) found.push(n)
  expect(found).toEqual([0, 1, 2, 3, 4, 5, 6])
})
