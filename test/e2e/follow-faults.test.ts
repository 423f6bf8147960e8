// hearth follow behind a proxy that damages what its upstream says: a block is completed by other
// means, or it is not stored.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEPLOY } from './contract.ts'
import { ALICE, Calls } from './dev-calls.ts'
import { set } from './dev-requests.ts'
import {
  blockAt,
  caughtUp,
  compared,
  type Damage,
  type DevUpstream,
  devUpstream,
  FaultProxy,
  type Passing,
  readyOf,
  startFollower,
  TRACERS,
} from './follow-nodes.ts'
import { type RunningNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

interface Witness {
  readonly state: string[]
  readonly codes: string[]
  readonly headers: string[]
}

const isWitness = ({ method }: Passing): boolean => method.startsWith('debug_executionWitness')

/** An answer with its witness changed. */
function changed(answer: Buffer, change: (witness: Witness) => Witness): Buffer | undefined {
  const parsed = JSON.parse(answer.toString()) as { result?: Witness }
  if (parsed.result === undefined) return undefined
  return Buffer.from(JSON.stringify({ ...parsed, result: change(parsed.result) }))
}

/** A hex text with one of its last bytes flipped. */
const flipped = (hex: string): string => `${hex.slice(0, -1)}${hex.endsWith('0') ? '1' : '0'}`

describe('an upstream with defects', () => {
  let upstream: DevUpstream
  let dev: Calls
  let contract = ''
  let proxy: FaultProxy
  let node: RunningNode
  let first = 0
  beforeAll(async () => {
    upstream = await devUpstream()
    dev = new Calls(upstream.url)
    const hash = await dev.send(ALICE, undefined, { data: DEPLOY, gas: '0xf4240' })
    contract = (await dev.call<{ contractAddress: string }>('eth_getTransactionReceipt', hash)).contractAddress
    proxy = await FaultProxy.to(upstream.url)
    const limits = ['--follow.timeout=1s', '--follow.max_witness_bytes=1 MiB']
    node = await startFollower(tempHome(), proxy.url, '--genesis', upstream.genesis, '--from', '1', ...limits)
    await caughtUp(node.url, upstream.url)
    first = await dev.height()
  })
  afterAll(async () => {
    const last = await dev.height()
    const { different } = await compared([upstream.url, node.url], { from: 1, to: last, tracers: TRACERS, exact: true })
    expect(different).toEqual([])
    expect(node.log()).not.toMatch(/unhandled|panic/i)
    expect(await node.stop()).toBe(0)
    await proxy.close()
    expect(await upstream.stop()).toBe(0)
  })

  /** One block whose requests are damaged, until the follower has it, or for so many requests. */
  async function blockUnder(damage: (request: Passing, answer: Buffer) => Damage, times = Number.POSITIVE_INFINITY): Promise<void> {
    let left = times
    proxy.damage = (request, answer) => {
      const done = left > 0 ? damage(request, answer) : undefined
      if (done !== undefined) left--
      return done
    }
    await dev.send(ALICE, contract, { data: set(await dev.height()), gas: '0xf4240' })
    await caughtUp(node.url, upstream.url)
    proxy.damage = () => undefined
  }

  it('that leaves out each node of a witness in turn is filled', async () => {
    let nodes = 0
    for (let i = 0; i === 0 || i < nodes; i++) {
      await blockUnder((request, answer) => {
        if (!isWitness(request)) return undefined
        return changed(answer, (witness) => {
          nodes = witness.state.length
          return { ...witness, state: witness.state.filter((_, at) => at !== i) }
        })
      })
    }
    expect(nodes).toBeGreaterThan(2)
  })

  it.each<[string, (witness: Witness) => Witness]>([
    ['other nodes', (witness) => ({ ...witness, state: witness.state.map(flipped) })],
    ['no nodes', (witness) => ({ ...witness, state: [] })],
    ['other code', (witness) => ({ ...witness, codes: witness.codes.map(flipped) })],
    ['no code', (witness) => ({ ...witness, codes: [] })],
    ['another parent', (witness) => ({ ...witness, headers: witness.headers.map(flipped) })],
    ['no headers', (witness) => ({ ...witness, headers: [] })],
    ['nodes twice, and strange ones', (witness) => ({ ...witness, state: [...witness.state, ...witness.state, '0x80', '0xc0', '0x'] })],
  ])('whose witness has %s is filled', async (_, change) => {
    await blockUnder((request, answer) => (isWitness(request) ? changed(answer, change) : undefined))
  })

  it('that gives the witness of another block is filled', async () => {
    let last: Buffer | undefined
    await blockUnder((request, answer) => {
      if (isWitness(request)) last = answer
      return undefined
    })
    await blockUnder((request) => (isWitness(request) ? last : undefined))
  })

  it.each<[string, Damage]>([
    ['no JSON', Buffer.from('<html>')],
    ['a text as witness', Buffer.from('{"jsonrpc":"2.0","id":1,"result":"0x"}')],
    ['null', Buffer.from('{"jsonrpc":"2.0","id":1,"result":null}')],
    ['a limit', Buffer.from('{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"slow down"}}')],
    ['part of a body', { cut: 40 }],
    ['a connection that ends', 'destroy'],
    ['too many bytes', Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"state":["0x${'00'.repeat(1_500_000)}"]}}`)],
    ['nothing at all', 'hang'],
  ])('that answers with %s twice is followed', async (_, damage) => {
    await blockUnder((request) => (isWitness(request) ? damage : undefined), 2)
  })

  it('that lies about a block stores nothing, and says so', async () => {
    const before = await blockAt(node.url, 'latest')
    proxy.damage = ({ method }, answer) => {
      if (method !== 'debug_getRawBlock') return undefined
      const parsed = JSON.parse(answer.toString()) as { result: string }
      return Buffer.from(JSON.stringify({ ...parsed, result: flipped(parsed.result) }))
    }
    await dev.send(ALICE, contract, { data: set(5), gas: '0xf4240' })
    await until('the refusal', async () => (await readyOf(node.url)).reasons.some((reason) => reason.includes('is refused')))
    expect((await blockAt(node.url, 'latest')).hash).toBe(before.hash)
    expect(await (await fetch(node.metrics as string)).text()).toMatch(/^follow_refused_total\{field="[a-zA-Z]+"\} [1-9]/m)
    proxy.damage = () => undefined
    await caughtUp(node.url, upstream.url)
    await until('readiness', async () => (await readyOf(node.url)).status === 'ready')
  })

  it('whose chain moves while a block is filled is followed', async () => {
    await dev.call('anvil_mine', '0x3')
    await caughtUp(node.url, upstream.url)
    let isMoved = false
    proxy.damage = async (request, answer) => {
      if (!isWitness(request) || isMoved) return undefined
      isMoved = true
      await dev.call('anvil_reorg', 3, [])
      return changed(answer, (witness) => ({ ...witness, state: [] }))
    }
    await dev.send(ALICE, contract, { data: set(6), gas: '0xf4240' })
    await until('the reorg', () => isMoved)
    await caughtUp(node.url, upstream.url)
    proxy.damage = () => undefined
    expect(await dev.height()).toBeGreaterThan(first)
  })
})
