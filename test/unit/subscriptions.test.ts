// Subscriptions of a connection that closes while a request is served.
import { expect, it } from 'vitest'
import type { Core } from '../../ts/core/port.ts'
import { traceChainFeed } from '../../ts/rpc/trace-chain.ts'
import { Subscriptions } from '../../ts/server/subscriptions.ts'
import { fakeStream } from './fake-core.ts'

const never = (): never => {
  throw new Error('nothing is sent')
}

it('end at once where the connection has closed', async () => {
  const subscriptions = new Subscriptions(never, never, never, never)
  const subscriber = subscriptions.openSubscriber()
  subscriptions.close()
  let [cancelled, stopped] = [0, 0]
  const results = async function* () {
    yield never()
  }
  subscriber.subscribe('debug', {
    results: results(),
    cancel: () => {
      cancelled++
    },
    end: never,
  })
  await subscriber.follow('eth', async () => () => {
    stopped++
  })
  subscriber.begin()
  expect([cancelled, stopped]).toEqual([1, 1])
})

it('end with their connection', async () => {
  const subscriptions = new Subscriptions(never, never, never, never)
  let stopped = 0
  await subscriptions.openSubscriber().follow('eth', async () => () => {
    stopped++
  })
  expect(stopped).toBe(0)
  subscriptions.close()
  expect(stopped).toBe(1)
})

/** A chain of a thousand empty blocks; `look` is called with each that is looked up. */
function emptyChain(look: (height: number) => void): Core {
  const core: Pick<Core, 'request' | 'stream'> = {
    request: async (_, args) => {
      const { block } = args as { block: string }
      look(Number(block))
      return Buffer.from(JSON.stringify({ number: block, hash: `0x${block.slice(2).padStart(64, '0')}` }))
    },
    stream: () => fakeStream(['[]']),
  }
  return core as Core
}

it.each(['cancel', 'end'] as const)('%s ends a feed between two traces', async (way) => {
  const looked: number[] = []
  let finish = (): void => undefined
  const core = emptyChain((height) => {
    looked.push(height)
    if (height === 3) finish()
  })
  const feed = await traceChainFeed(core, '0x0', '0x3e8', undefined, never)
  finish = feed[way]
  expect((await feed.results.next()).done).toBe(true)
  expect(looked).toEqual([0, 1000, 1, 2, 3])
})

it('an unsubscribed feed looks for no further block', async () => {
  const subscriptions = new Subscriptions(never, never, never, never)
  const subscriber = subscriptions.openSubscriber()
  const looked: number[] = []
  let id = ''
  const core = emptyChain((height) => {
    looked.push(height)
    if (height === 2) subscriber.unsubscribe(id)
  })
  id = subscriber.subscribe('debug', await traceChainFeed(core, '0x0', '0x3e8', undefined, never))
  subscriber.begin()
  // The chain answers without waiting: a feed that continues is at its end by now.
  await new Promise((resolve) => setImmediate(resolve))
  expect(looked).toEqual([0, 1000, 1, 2])
})
