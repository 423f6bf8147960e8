// Every parameter of every method with every kind of wrong value: refused with a message, and never
// a crash.
import { describe, expect, it } from 'vitest'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import type { Param } from '../../ts/rpc/method.ts'
import type { Subscriber } from '../../ts/rpc/subscription.ts'
import { METHODS, namespaceOf } from '../../ts/rpc/table.ts'
import { drain, fakeCore, fakeStream, PLAIN_RULES } from './fake-core.ts'
import { seeded } from './follow-model.ts'
import { type Kind, kindOfParam } from './param-kinds.ts'

const INVALID_PARAMS = -32602
const LIMIT = -32005
const INTERNAL = -32603

const failures: unknown[] = []
// Every operation answers: what is refused is refused before the core.
const replies: Record<string, string> = {
  sendRawTransaction: '"0x1"',
  getTransactionReceipt: '{}',
  getProof: '{}',
  getBlockId: '{"number":"0x1"}',
  getBlockByNumber: '{"number":"0x1","difficulty":"0x1","timestamp":"0x1","transactions":[]}',
  getBlockReceipts: '[]',
  getTransactionCount: '"0x1"',
  blockNumber: '"0x1"',
  txpoolContentFrom: '{"pending":{},"queued":{}}',
}
const core = fakeCore(new Proxy({}, { get: (_, op: string) => replies[op] ?? 'null' }), () => fakeStream(['[]']))
const legacyChain = new Set(METHODS.map((m) => m.name.toLowerCase()))
const namespaces = [...new Set(METHODS.map((m) => namespaceOf(m.name)))]
const context = { core: { ...core, dev: true }, namespaces, clientVersion: 'test', ...PLAIN_RULES, legacyChain }
const dispatch = makeDispatch(context, { requests: 10, responseBytes: 1e9, concurrency: 1 }, (e) => failures.push(e))
const subscriber: Subscriber = {
  subscribe: () => '0x1',
  follow: async () => '0x1',
  unsubscribe: () => true,
  report: (e) => failures.push(e),
}
const client = { connection: 'websocket', subscriber, onDisconnect: () => undefined } as const

interface Answered {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

async function ask(method: string, params: unknown): Promise<Answered> {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return JSON.parse(await drain(await dispatch(text, client as never))) as Answered
}

const shown = (value: unknown): string => JSON.stringify(value)?.slice(0, 80) ?? 'undefined'

describe('every method', () => {
  it('has parameters of kinds that this test knows', () => {
    const unknown = METHODS.flatMap((m) => m.params.filter((p) => kindOfParam(p) === undefined).map((p) => `${m.name}: ${p.name}`))
    expect(unknown).toEqual([])
  })

  it.each(METHODS.map((m) => [m.name, m] as const))('%s refuses wrong values of each parameter', async (name, method) => {
    const kinds = method.params.map((param) => kindOfParam(param) as Kind)
    const good = kinds.map((kind) => kind.good)
    for (const [place, kind] of kinds.entries()) {
      for (const bad of kind.bad) {
        const { error } = await ask(name, good.with(place, bad))
        expect([INVALID_PARAMS, LIMIT], `${name}: ${method.params[place]?.name} = ${shown(bad)}: ${shown(error)}`).toContain(error?.code)
        expect(error?.message).not.toBe('')
      }
      const { required, whenNull } = method.params[place] as Param<unknown>
      if (required) {
        const missing = { code: INVALID_PARAMS, message: `missing value for required argument ${place}` }
        expect((await ask(name, good.slice(0, place))).error).toEqual(missing)
        // Of a list, a boolean and an object, null is the empty one, as in go-ethereum.
        const [byNull, byEmpty] = [await ask(name, good.with(place, null)), await ask(name, good.with(place, whenNull))]
        expect(byNull.error).toEqual(whenNull === undefined ? missing : byEmpty.error)
      }
    }
    const many = (await ask(name, [...good, 1])).error
    expect(many).toEqual({ code: INVALID_PARAMS, message: `too many arguments, want at most ${good.length}` })
    for (const params of [{}, 'x', 1, true])
      expect((await ask(name, params)).error).toEqual({ code: INVALID_PARAMS, message: 'non-array args' })
    expect(failures).toEqual([])
  })

  it('survives values that fit no parameter, of any shape', async () => {
    const random = seeded(11)
    const leaf = (): unknown =>
      [null, true, -1, 2 ** 53, 1e308, '', '0x', '0x1', 'latest', `0x${'f'.repeat(random(70))}`, 'x'.repeat(random(300)), '__proto__'][
        random(12)
      ]
    const value = (depth: number): unknown => {
      const kind = depth > 4 ? 0 : random(4)
      if (kind === 1) return Array.from({ length: random(4) }, () => value(depth + 1))
      const keys = [
        'to',
        'data',
        'topics',
        'address',
        '__proto__',
        'constructor',
        'blockHash',
        'tracer',
        'types',
        'domain',
        `0x${'1'.repeat(40)}`,
      ]
      if (kind === 2) return Object.fromEntries(Array.from({ length: random(4) }, () => [keys[random(keys.length)], value(depth + 1)]))
      return leaf()
    }
    for (const { name, params } of METHODS) {
      for (let round = 0; round < 60; round++) {
        const given = params.map((param) => (random(3) === 0 ? kindOfParam(param)?.good : value(0)))
        const { error } = await ask(name, given)
        expect(error?.code, `${name} ${shown(given)}`).not.toBe(INTERNAL)
      }
    }
    expect(failures).toEqual([])
  })
})
