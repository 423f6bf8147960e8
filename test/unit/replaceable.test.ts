// A core that another one replaces: requests go to the new one, and the numbers of events continue.
import { expect, it } from 'vitest'
import { CoreError } from '../../ts/core/error.ts'
import type { Core } from '../../ts/core/port.ts'
import { replaceable } from '../../ts/core/replaceable.ts'
import { eventCount, eventsAfter } from '../../ts/rpc/follow/events.ts'

const closed = (): CoreError => new CoreError('closed', 'node is closed')

/** A core with a name and some events, which it reports as the real core does. */
function named(name: string, events: string[]): Core {
  let isClosed = false
  const waiting: { resolve: (page: Uint8Array) => void; reject: (e: Error) => void }[] = []
  const page = (after: number): Uint8Array =>
    Buffer.from(JSON.stringify({ next: events.length, missed: 0, events: events.slice(after).map((hash) => ['transaction', hash]) }))
  return {
    dev: true,
    request: async () => {
      // Long enough for another one to take its place.
      await new Promise((resolve) => setTimeout(resolve, 5))
      if (isClosed) throw closed()
      return Buffer.from(`"${name}"`)
    },
    events: (after: number, wait: boolean) => {
      if (isClosed) return Promise.reject(closed())
      if (!wait || after < events.length) return Promise.resolve(page(after))
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }))
    },
    close: async () => {
      isClosed = true
      for (const { reject } of waiting) reject(closed())
    },
    withCaller: ({ address }: { address: string }) => ({ ...named(`${name} for ${address}`, events) }),
  } as unknown as Core
}

const whole = { resetTo: async () => undefined, moveOrigin: async () => undefined, originUrl: () => undefined }
const caller = { address: 'somebody', onDisconnect: () => undefined, historical: () => undefined }
const text = async (answer: Promise<Uint8Array> | string): Promise<string> => Buffer.from(await answer).toString()

it('asks the core of the moment, also in the name of a client', async () => {
  const { core, replace } = replaceable(named('one', []), whole)
  const hers = core.withCaller?.(caller) as Core
  expect(await text(core.request('chainId', undefined))).toBe('"one"')
  expect(await text(hers.request('chainId', undefined))).toBe('"one for somebody"')
  await replace(named('two', []))
  expect(await text(core.request('chainId', undefined))).toBe('"two"')
  expect(await text(hers.request('chainId', undefined))).toBe('"two for somebody"')
})

it('continues event numbers, and waiters get the new core', async () => {
  const old = ['0xa', '0xb', '0xc']
  const { core, replace } = replaceable(named('one', old), whole)
  expect(await eventsAfter(core, 1, false)).toEqual({
    next: 3,
    missed: 0,
    events: [
      ['transaction', '0xb'],
      ['transaction', '0xc'],
    ],
  })
  const waits = eventsAfter(core, 3, true)
  const fresh: string[] = []
  const last = await replace(named('two', fresh))
  await last.close()
  expect(await waits).toEqual({ next: 3, missed: 0, events: [] })
  expect(await eventCount(core)).toBe(3)
  fresh.push('0xd')
  // Unread events of the last core are not reported any more.
  for (const after of [1, 3])
    expect(await eventsAfter(core, after, false)).toEqual({ next: 4, missed: 0, events: [['transaction', '0xd']] })
  expect(await eventsAfter(core, 4, false)).toEqual({ next: 4, missed: 0, events: [] })
  fresh.push('0xe')
  await replace(named('three', ['0xf']))
  expect(await eventsAfter(core, 5, false)).toEqual({ next: 6, missed: 0, events: [['transaction', '0xf']] })
})

it('reports that the chain was replaced, or the node closed', async () => {
  const { core, replace } = replaceable(named('one', []), whole)
  const asked = core.request('chainId', undefined)
  await (await replace(named('two', []))).close()
  await expect(asked).rejects.toMatchObject({
    kind: 'execution_failed',
    message: 'the chain was replaced by another one during this request: send it again',
  })
  await core.close()
  await expect(core.request('chainId', undefined)).rejects.toMatchObject({ kind: 'closed' })
  await expect(core.events(0, true)).rejects.toMatchObject({ kind: 'closed' })
})
