// Blocks that are followed: none is missed that comes while the follower looks where the head is.
import { expect, it } from 'vitest'
import type { Core } from '../../ts/core/port.ts'
import { blocks } from '../../ts/script/reading/chain.ts'

const json = (value: unknown): Promise<Uint8Array> => Promise.resolve(Buffer.from(JSON.stringify(value)))

/**
 * A chain whose next block arrives right after the second read of the head, which decides on
 * waiting; reading blocks fails with the range.
 */
function risky(): Core {
  let head = 4
  let looks = 0
  const core: Pick<Core, 'request' | 'events'> = {
    request: async (op, args) => {
      if (op === 'read') throw new Error(`read ${JSON.stringify((args as { of: { range: unknown } }).of.range)}`)
      const found = json({ number: `0x${head.toString(16)}`, hash: '0x' })
      looks += 1
      if (looks === 2) head = 5
      return found
    },
    // One event a block.
    events: (after, wait) => (wait && after >= head ? new Promise(() => undefined) : json({ next: head, missed: 0, events: [] })),
  }
  return core as Core
}

it('a block between the read of the head and the wait is read', async () => {
  const follow = async (): Promise<void> => {
    for await (const block of blocks(risky(), { from: 5n, follow: true })) throw new Error(`a block: ${block.number}`)
  }
  await expect(follow()).rejects.toThrow('read {"from":5,"to":5}')
})
