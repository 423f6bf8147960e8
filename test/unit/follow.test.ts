// Filters and subscriptions against a model: a chain of many blocks with forks, of which nothing
// may be missed or reported twice.
import { describe, expect, it } from 'vitest'
import { CoreError } from '../../ts/core/error.ts'
import type { Core } from '../../ts/core/port.ts'
import { readBytes } from '../../ts/core/results.ts'
import { RpcError } from '../../ts/rpc/errors.ts'
import { Filters } from '../../ts/rpc/follow/filters.ts'
import { Follower } from '../../ts/rpc/follow/follower.ts'
import { type Interest, SubscriptionHub } from '../../ts/rpc/follow/index.ts'
import { FILTERS_MAX, WAITING_BYTES_MAX, WAITING_MAX } from '../../ts/rpc/follow/limits.ts'
import { Outbox } from '../../ts/server/outbox.ts'
import { ModelChain, seeded } from './follow-model.ts'

const BLOCKS = 10_000
const LOGS: Interest = { kind: 'logs', filter: {} }

const parse = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString())

/** A follower of a model, and what went wrong inside. */
function following(model: ModelChain): { follower: Follower; failures: unknown[] } {
  const failures: unknown[] = []
  return { follower: new Follower(model.core() as Core, (e) => failures.push(e)), failures }
}

/** All notifications of one interest. */
async function recorded(follower: Follower, interest: Interest): Promise<{ heard: unknown[]; lost: number[]; stop: () => void }> {
  const heard: unknown[] = []
  const lost: number[] = []
  const stop = await follower.listen(interest, { push: (result) => heard.push(parse(result)), lost: (events) => lost.push(events) })
  return { heard, lost, stop }
}

/** The logs that must have been reported, event by event. */
function logsOf(model: ModelChain): unknown[] {
  return model.events.flatMap((event) => {
    if (event[0] === 'transaction') return []
    const logs = model.block(event[2]).logs.map((log) => ({ log, removed: event[0] === 'removed' }))
    return event[0] === 'removed' ? logs.reverse() : logs
  })
}

/**
 * A chain that grows to `blocks` made blocks, with forks of up to eight blocks; `pause` is called
 * now and then.
 */
async function grow(model: ModelChain, random: (below: number) => number, blocks: number, pause: () => Promise<void>): Promise<void> {
  for (let made = 0; made < blocks; ) {
    if (random(10) === 0) {
      const depth = Math.min(random(8) + 1, model.chain.length)
      for (let i = 0; i < depth; i++) model.remove()
      // The other branch is longer, as one that wins is.
      for (let i = 0; i <= depth && made < blocks; i++, made++) model.add()
    } else {
      model.add()
      made++
    }
    if (random(5) === 0) await pause()
  }
}

describe('following a chain with forks', () => {
  it(`reports each of ${BLOCKS} blocks and its logs once, in order`, async () => {
    const random = seeded(7)
    const model = new ModelChain(random)
    const { follower, failures } = following(model)
    const heads = await recorded(follower, { kind: 'heads' })
    const logs = await recorded(follower, LOGS)
    const filters = new Filters(follower, 1e9)
    const [blockFilter, logFilter] = [await filters.open({ kind: 'blocks' }), await filters.open(LOGS)]
    const polled = { blocks: [] as unknown[], logs: [] as unknown[] }
    const poll = async (): Promise<void> => {
      polled.blocks.push(...(parse(await filters.changes(blockFilter)) as unknown[]))
      polled.logs.push(...(parse(await filters.changes(logFilter)) as unknown[]))
    }
    await grow(model, random, BLOCKS, async () => {
      if (random(4) === 0) await poll()
      else await new Promise<void>((resolve) => setImmediate(resolve))
    })
    await poll()
    const added = model.events.flatMap((event) => (event[0] === 'added' ? [event[2]] : []))
    expect(added.length).toBe(BLOCKS)
    expect(model.events.length).toBeGreaterThan(BLOCKS * 1.2)
    expect(heads.heard).toEqual(added.map((hash) => ({ hash })))
    expect(polled.blocks).toEqual(added)
    expect(logs.heard).toEqual(logsOf(model))
    expect(polled.logs).toEqual(logsOf(model))
    expect([heads.lost, logs.lost, failures]).toEqual([[], [], []])
    // A reader that applies the notifications has the logs of the chain.
    const alive: string[] = []
    for (const { log, removed } of logs.heard as { log: string; removed: boolean }[]) {
      if (removed) expect(alive.pop()).toBe(log)
      else alive.push(log)
    }
    expect(alive).toEqual(model.chain.flatMap((block) => block.logs))
  })

  it('begins with what happens after it was asked for', async () => {
    const model = new ModelChain(seeded(1))
    const { follower } = following(model)
    model.add()
    const early = await recorded(follower, { kind: 'blocks' })
    const second = model.add()
    const late = await recorded(follower, { kind: 'blocks' })
    const third = model.add()
    await follower.catchUp()
    expect(early.heard).toEqual([second.hash, third.hash])
    expect(late.heard).toEqual([third.hash])
    late.stop()
    model.add()
    await follower.catchUp()
    expect(late.heard.length).toBe(1)
  })

  it('reports transactions by hash or whole, in order of arrival', async () => {
    const model = new ModelChain(seeded(1))
    const { follower } = following(model)
    const hashes = await recorded(follower, { kind: 'transactions', full: false })
    const whole = await recorded(follower, { kind: 'transactions', full: true })
    model.transaction('0xaa')
    model.add()
    model.transaction('0xbb')
    await follower.catchUp()
    expect(hashes.heard).toEqual(['0xaa', '0xbb'])
    expect(whole.heard).toEqual([
      { hash: '0xaa', blockHash: null },
      { hash: '0xbb', blockHash: null },
    ])
  })

  it('reports how many events were missed, and continues', async () => {
    const model = new ModelChain(seeded(1))
    const { follower } = following(model)
    const heard = await recorded(follower, { kind: 'blocks' })
    await follower.catchUp()
    // Both at once, so that nothing is read between.
    model.floor = 20
    for (let i = 0; i < 25; i++) model.add()
    await follower.catchUp()
    expect(heard.lost).toEqual([20])
    expect(heard.heard).toEqual(model.chain.slice(20).map((block) => block.hash))
  })

  it('says that logs are lost where a block cannot be read', async () => {
    const model = new ModelChain(seeded(3))
    const core = model.core()
    const request: Core['request'] = async (op, args) => {
      if (op === 'blockLogs') throw new CoreError('not_retained', 'block 1 was pruned')
      return await readBytes(core, op, args)
    }
    const failures: unknown[] = []
    const follower = new Follower({ ...core, request } as Core, (e) => failures.push(e))
    const [logs, blocks] = [await recorded(follower, LOGS), await recorded(follower, { kind: 'blocks' })]
    const block = model.add()
    await follower.catchUp()
    expect([logs.lost, logs.heard]).toEqual([[1], []])
    expect([blocks.lost, blocks.heard]).toEqual([[], [block.hash]])
    expect(failures.length).toBe(1)
  })
})

describe('filters', () => {
  const refusal = async (work: Promise<unknown>): Promise<RpcError> => {
    const e = await work.catch((e: unknown) => e)
    expect(e).toBeInstanceOf(RpcError)
    return e as RpcError
  }

  it(`report more than ${WAITING_MAX} waiting results once, and end`, async () => {
    const model = new ModelChain(seeded(1))
    model.page = 1024
    const filters = new Filters(following(model).follower, 1e9)
    const [full, over] = [await filters.open({ kind: 'blocks' }), await filters.open({ kind: 'blocks' })]
    for (let i = 0; i < WAITING_MAX; i++) model.add()
    expect((parse(await filters.changes(full)) as unknown[]).length).toBe(WAITING_MAX)
    model.add()
    expect(await refusal(filters.changes(over))).toMatchObject({ code: -32000, message: 'filter overflowed' })
    expect(await refusal(filters.changes(over))).toMatchObject({ code: -32000, message: 'filter not found' })
    expect((parse(await filters.changes(full)) as unknown[]).length).toBe(1)
  })

  it('overflow by bytes, and where the core forgot what happened', async () => {
    const model = new ModelChain(seeded(1))
    const big = Buffer.from(`"${'x'.repeat(WAITING_BYTES_MAX / 4)}"`)
    const core = { ...model.core(), request: async () => big } as unknown as Core
    const filters = new Filters(new Follower(core, () => undefined), 1e9)
    const id = await filters.open({ kind: 'transactions', full: true })
    for (let i = 0; i < 3; i++) model.transaction('0xaa')
    expect((await filters.changes(id)).length).toBe(3 * big.length + 4)
    for (let i = 0; i < 4; i++) model.transaction('0xaa')
    expect((await refusal(filters.changes(id))).message).toBe('filter overflowed')
    const other = await filters.open({ kind: 'blocks' })
    model.floor = 100
    for (let i = 0; i < 101; i++) model.add()
    expect((await refusal(filters.changes(other))).message).toBe('filter overflowed')
  })

  it('are bounded; idle ones make room', async () => {
    let now = 0
    const filters = new Filters(following(new ModelChain(seeded(1))).follower, 1000, { now: () => now })
    for (let i = 0; i < FILTERS_MAX; i++) await filters.open({ kind: 'blocks' })
    const refused = { code: -32005, message: `too many filters: at most ${FILTERS_MAX}` }
    expect(await refusal(filters.open(LOGS))).toMatchObject(refused)
    now = 1001
    expect(parse(await filters.changes(await filters.open(LOGS)))).toEqual([])
  })

  it('end when nobody asks for long, and when they are ended', async () => {
    let now = 0
    const model = new ModelChain(seeded(1))
    const filters = new Filters(following(model).follower, 1000, { now: () => now })
    const [asked, idle] = [await filters.open({ kind: 'blocks' }), await filters.open(LOGS)]
    now = 900
    expect(parse(await filters.changes(asked))).toEqual([])
    now = 1800
    expect(parse(await filters.changes(asked))).toEqual([])
    expect(() => filters.criteria(idle)).toThrow('filter not found')
    expect(() => filters.criteria(asked)).toThrow('filter not found')
    expect([filters.close(asked), filters.close(asked), filters.close('0x1')]).toEqual([true, false, false])
    expect((await refusal(filters.changes(asked))).message).toBe('filter not found')
  })
})

describe('subscriptions', () => {
  it('are bounded per kind; one that ends makes room', async () => {
    const model = new ModelChain(seeded(1))
    const follow = new SubscriptionHub(model.core() as Core, { filterIdleMs: 1e9, heads: 1, logs: 0 }, () => undefined)
    const silent = { push: () => undefined, lost: () => undefined }
    const stop = await follow.source({ kind: 'heads' })(silent)
    expect(() => follow.source({ kind: 'heads' })).toThrow('too many subscriptions to new heads: at most 1')
    expect(() => follow.source(LOGS)).toThrow('too many subscriptions to logs: at most 0')
    stop()
    stop()
    const again = await follow.source({ kind: 'heads' })(silent)
    expect(() => follow.source({ kind: 'heads' })).toThrow('at most 1')
    again()
    await follow.source({ kind: 'transactions', full: false })(silent)
  })

  it('end a connection that does not keep up, with a count', async () => {
    const limits = { notifications: 3, bytes: 10 }
    const waiting: (() => void)[] = []
    const sent: string[] = []
    const missed: number[] = []
    const send = (bytes: Uint8Array): Promise<void> => {
      sent.push(Buffer.from(bytes).toString())
      return new Promise((resolve) => waiting.push(resolve))
    }
    const outbox = new Outbox(limits, send, (count) => missed.push(count))
    for (const text of ['a', 'b', 'c']) outbox.push(Buffer.from(text))
    waiting.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
    outbox.push(Buffer.from('d'))
    expect([sent, missed]).toEqual([['a', 'b', 'c', 'd'], []])
    outbox.push(Buffer.from('e'))
    expect([sent.length, missed, outbox.isOver]).toEqual([4, [4], true])
    outbox.push(Buffer.from('f'))
    expect([sent.length, missed]).toEqual([4, [4]])
    const bytes = new Outbox(limits, send, (count) => missed.push(count))
    bytes.push(Buffer.from('x'.repeat(10)))
    bytes.push(Buffer.from('y'))
    expect(missed).toEqual([4, 2])
  })
})
