// Subscriptions of a connection that closes while a request is served.
import { expect, it } from 'vitest'
import { Subscriptions } from '../../ts/server/subscriptions.ts'

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
