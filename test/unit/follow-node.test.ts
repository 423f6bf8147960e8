// A node that follows: heads, branches, catching up, sources, holes, refusals, and several
// upstreams, with a core that knows blocks by names.

import { afterEach, describe, expect, it } from 'vitest'
import { WebSocketServer } from 'ws'
import { type FollowNode, type FollowOptions, followNode } from '../../ts/follow/node.ts'
import { until as untilOf } from '../e2e/waiting.ts'
import { blocksAfter, GENESIS, hex, optionsFor, recordedEvents, type TestBlock, TestCore, TestUpstream } from './follow-chain.ts'

const until = (holds: () => boolean): Promise<void> => untilOf('the state of the follower', holds)

const ends: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function upstreamWith(count: number): Promise<TestUpstream> {
  const upstream = await TestUpstream.start()
  upstream.add(blocksAfter(GENESIS, count))
  ends.push(() => upstream.server.stop())
  return upstream
}

interface Started {
  readonly node: FollowNode
  readonly test: TestCore
  readonly events: ReturnType<typeof recordedEvents>
}

function follow(upstreams: readonly TestUpstream[], more: Partial<FollowOptions> = {}, test = new TestCore()): Started {
  const events = recordedEvents()
  const options = optionsFor(
    upstreams.map(({ url }) => url),
    more,
  )
  const node = followNode(test.core, { chainId: 7, genesisHash: GENESIS.hash }, options, events)
  ends.push(() => node.stop())
  node.start()
  return { node, test, events }
}

const atHead = (test: TestCore, upstream: TestUpstream): Promise<void> => until(() => test.head.hash === upstream.head.hash)

describe('heads', () => {
  it('are followed one after the other', async () => {
    const upstream = await upstreamWith(1)
    const { test, node } = follow([upstream])
    await atHead(test, upstream)
    for (let i = 0; i < 3; i++) {
      upstream.add(blocksAfter(upstream.head, 1))
      await atHead(test, upstream)
    }
    expect(test.given.map(({ number, source, form }) => [number, source, form])).toEqual(
      [1, 2, 3, 4].map((number) => [number, 'witness', 'raw']),
    )
    expect(test.given[0]?.witness).toBe(JSON.stringify({ state: [upstream.chain[1]?.hash] }))
    expect(node.reason()).toBeUndefined()
  })

  it('come by subscription where there is a WebSocket', async () => {
    const upstream = await upstreamWith(1)
    const sockets = new WebSocketServer({ port: 0, host: '127.0.0.1' })
    ends.push(() => new Promise((resolve) => sockets.close(() => resolve())))
    const asked: unknown[] = []
    sockets.on('connection', (socket) => {
      socket.on('message', (text) => {
        asked.push(JSON.parse(String(text)))
        socket.send('{"jsonrpc":"2.0","id":1,"result":"0x1"}')
        upstream.add(blocksAfter(upstream.head, 1))
        const { number, hash, parentHash } = upstream.head
        const result = { number: hex(number), hash, parentHash }
        setTimeout(() => {
          socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x1', result } }))
        }, 300)
      })
    })
    await new Promise((resolve) => sockets.once('listening', resolve))
    const { port } = sockets.address() as { port: number }
    const { test } = follow([upstream], { wsUrl: `ws://127.0.0.1:${port}`, pollMs: 60_000 })
    await until(() => test.head.number === 2)
    expect(asked).toMatchObject([{ method: 'eth_subscribe', params: ['newHeads'] }])
  })

  it('far away are caught up with in turns', async () => {
    const upstream = await upstreamWith(200)
    const { test, node } = follow([upstream])
    await until(() => test.head.number > 0)
    await atHead(test, upstream)
    expect(test.given.map(({ number }) => number)).toEqual(Array.from({ length: 200 }, (_, i) => i + 1))
    expect(node.sample()).toMatchObject({ head: 200, upstreamHead: 200, lag: 0 })
  })

  it('that an upstream reports late change nothing', async () => {
    const upstream = await upstreamWith(5)
    const { test } = follow([upstream])
    await atHead(test, upstream)
    upstream.chain = upstream.chain.slice(0, 3)
    await until(() => upstream.asked('eth_getBlockByNumber').length > 20)
    expect(test.head.number).toBe(5)
  })
})

describe('branches', () => {
  it.each([5, 40])('of %d blocks take the place of others', async (depth) => {
    const upstream = await upstreamWith(60)
    const { test, events } = follow([upstream])
    await atHead(test, upstream)
    upstream.add(blocksAfter(upstream.chain[60 - depth] ?? GENESIS, depth + 1, 'other'))
    await atHead(test, upstream)
    expect(test.chain.map(({ hash }) => hash)).toEqual(upstream.chain.map(({ hash }) => hash))
    expect(events.all.filter(([name]) => name === 'reorg')).toEqual([['reorg', depth]])
  })

  it('deeper than the setting are not followed', async () => {
    const upstream = await upstreamWith(30)
    const { test, node } = follow([upstream], { reorgBlocks: 10 })
    await atHead(test, upstream)
    upstream.add(blocksAfter(upstream.chain[15] ?? GENESIS, 20, 'other'))
    await until(() => node.reason()?.includes('more than 10 blocks below block 30') === true)
    expect(test.head.number).toBe(30)
  })

  it('without our first block are another chain', async () => {
    const upstream = await upstreamWith(30)
    const test = new TestCore(blocksAfter(GENESIS, 10, 'elsewhere').at(-1))
    const { node } = follow([upstream], {}, test)
    await until(() => node.reason()?.includes('has another block 10') === true)
    expect(test.given).toEqual([])
  })
})

describe('what a witness lacks', () => {
  it('is fetched by proofs, codes and headers, by hash', async () => {
    const upstream = await upstreamWith(1)
    upstream.more = ({ method, params }) => {
      if (method === 'eth_getProof') return { result: { address: params[0], slots: params[1], at: params[2] } }
      if (method === 'eth_getCode') return { result: '0x6001' }
      if (method === 'debug_getRawHeader') return { result: '0xf90001' }
      return undefined
    }
    const [account, slot] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(32)}`]
    const test = new TestCore()
    test.judge = ({ extra }, { parentHash }) =>
      extra === undefined
        ? {
            status: 'wanted',
            parent: parentHash,
            accounts: [{ address: account, slots: [slot] }],
            codes: [{ address: account, hash: slot }],
            headers: [{ number: 0, hash: GENESIS.hash }],
            after: [{ address: account, slots: [] }],
          }
        : undefined
    const { events } = follow([upstream], {}, test)
    await atHead(test, upstream)
    const own = upstream.head.hash
    expect(test.given[1]?.extra).toEqual({
      proofs: [{ address: account, slots: [slot], at: { blockHash: GENESIS.hash } }],
      after: [{ address: account, slots: [], at: { blockHash: own } }],
      codes: ['0x6001'],
      headers: ['0xf90001'],
    })
    expect(events.all.filter(([name]) => name === 'filled')).toHaveLength(1)
  })

  it('and no answer has, leads to the next source and a hole', async () => {
    const upstream = await upstreamWith(1)
    upstream.more = ({ method }) => (method === 'eth_getProof' ? { result: {} } : undefined)
    const test = new TestCore()
    test.judge = ({ source }, { parentHash }) =>
      source === 'none'
        ? undefined
        : {
            status: 'wanted',
            parent: parentHash,
            accounts: [{ address: `0x${'11'.repeat(20)}`, slots: [] }],
            codes: [],
            headers: [],
            after: [],
          }
    const { events } = follow([upstream], {}, test)
    await atHead(test, upstream)
    expect(test.given.at(-1)?.source).toBe('none')
    expect(events.all.find(([name]) => name === 'hole')?.[2]).toContain('what the execution wants is not in its answers')
  })
})

describe('sources', () => {
  it('begin with proofs where there are no witnesses', async () => {
    const upstream = await upstreamWith(2)
    const [account, slot] = [`0x${'11'.repeat(20)}`, `0x${'22'.repeat(32)}`]
    upstream.more = ({ method, params }) => {
      if (method === 'debug_executionWitnessByHash') return { error: { code: -32601, message: 'method not found' } }
      if (method === 'eth_getProof') return { result: { address: params[0], slots: params[1] } }
      if (method === 'debug_traceBlockByHash') return { result: [{ result: { [account]: { code: '0x60', storage: { [slot]: '0x1' } } } }] }
      if (method === 'eth_getBlockByHash') {
        const block = upstream.blocks.get(String(params[0]))
        return { result: { ...block, number: hex(block?.number ?? 0), miner: account, transactions: [slot] } }
      }
      return undefined
    }
    const { test } = follow([upstream])
    await atHead(test, upstream)
    expect(test.given.map(({ source, witness }) => [source, witness])).toEqual([
      ['proof', undefined],
      ['proof', undefined],
    ])
    expect(test.given[0]?.extra).toMatchObject({ proofs: [{ address: account, slots: [slot] }], codes: ['0x60'] })
  })

  it('that lack an old block are replaced for it', async () => {
    const upstream = await upstreamWith(100)
    upstream.more = ({ method, params }) => {
      if (method === 'eth_getProof') return { result: { of: params[0] } }
      if (method === 'debug_traceBlockByHash') return { result: [] }
      const block = method === 'debug_executionWitnessByHash' ? upstream.blocks.get(String(params[0])) : undefined
      return block !== undefined && block.number < 30 ? { error: { code: -32000, message: 'too old' } } : undefined
    }
    const { test, events } = follow([upstream])
    await atHead(test, upstream)
    expect(test.holes).toBe(0)
    expect(test.given.filter(({ source }) => source === 'proof').map(({ number }) => number)).toEqual(
      Array.from({ length: 29 }, (_, i) => i + 1),
    )
    const asked = upstream.asked('debug_executionWitnessByHash').filter(([hash]) => hash === upstream.chain[20]?.hash)
    expect(asked).toHaveLength(1)
    expect(events.all.filter(([, message]) => message === 'blocks come by another source')).toHaveLength(2)
  })

  it('without proofs are refused unless the setting accepts them', async () => {
    const upstream = await upstreamWith(1)
    upstream.more = ({ method }) => {
      if (method === 'debug_executionWitnessByHash') return { error: { code: -32601, message: 'method not found' } }
      if (method === 'debug_traceBlockByHash') return { result: [] }
      if (method === 'eth_getTransactionCount') return { result: '0x2' }
      if (method === 'eth_getCode') return { result: '0x' }
      return undefined
    }
    const { node, test } = follow([upstream])
    await until(() => node.reason()?.includes('follow.verify = "executed" accepts that') === true)
    expect(test.given).toEqual([])
    const other = follow([upstream], { verify: 'executed' })
    await atHead(other.test, upstream)
    const prestate = { [`0x${'aa'.repeat(20)}`]: { balance: '0x0', nonce: '0x2', code: '0x', storage: {} } }
    expect(other.test.given[0]).toMatchObject({ source: 'prestate', extra: { prestate } })
  })

  it.each([
    ['Geth/v1.17.0-stable-0cf3d3ba/linux-amd64/go1.24', 'not found', [1, 2, 3]],
    ['Geth/v1.17.0-stable-0cf3d3ba/linux-amd64/go1.24', 'a root node', [3]],
    ['Geth/v1.17.2-stable-0cf3d3ba/linux-amd64/go1.24', 'a root node', [1, 2, 3]],
  ])('never damage %s, %s', async (version, found, numbers) => {
    const upstream = await upstreamWith(3)
    upstream.clientVersion = version
    upstream.more = ({ method }) => {
      if (method !== 'debug_dbGet') return undefined
      return found === 'not found' ? { error: { code: -32000, message: 'pebble: not found' } } : { result: '0xf90211' }
    }
    const { test } = follow([upstream])
    await atHead(test, upstream)
    const requested = upstream.asked('debug_executionWitnessByHash').map(([hash]) => upstream.blocks.get(String(hash))?.number)
    expect(requested.filter((number) => number !== undefined).sort()).toEqual(numbers)
  })
})

describe('a block that is refused', () => {
  it('stops the branch, and the node says why', async () => {
    const upstream = await upstreamWith(3)
    const test = new TestCore()
    test.judge = (_, { number }) => (number === 2 ? { status: 'refused', field: 'stateRoot', reason: 'want 0x1' } : undefined)
    const { node, events } = follow([upstream], {}, test)
    await until(() => node.reason()?.includes('block 2') === true)
    expect(node.reason()).toMatch(/^following: block 2 \(0x[0-9a-f]{64}\) of http:\/\/127\.0\.0\.1:\d+ is refused: stateRoot: want 0x1$/)
    expect(test.head.number).toBe(1)
    expect(events.all).toContainEqual(['refused', 'stateRoot'])
    test.judge = () => undefined
    await atHead(test, upstream)
    await until(() => node.reason() === undefined)
  })

  it('for its witness is taken with that of another upstream', async () => {
    const [bad, good] = [await upstreamWith(2), await upstreamWith(2)]
    bad.more = ({ method, params }) =>
      method === 'debug_executionWitnessByHash' && bad.blocks.has(String(params[0])) ? { result: { state: ['bad'] } } : undefined
    const test = new TestCore()
    test.judge = ({ witness }) => (witness?.includes('bad') ? { status: 'refused', field: 'witness', reason: 'no node' } : undefined)
    follow([bad, good], {}, test)
    await atHead(test, bad)
    expect(test.given.filter(({ source }) => source === 'none')).toEqual([])
  })

  it('for its witness is not left to an upstream without an answer', async () => {
    const upstreams = [await upstreamWith(1), await upstreamWith(1), await upstreamWith(1)]
    const [bad, silent] = upstreams as [TestUpstream, TestUpstream]
    const test = new TestCore()
    follow(upstreams, { timeoutMs: 300 }, test)
    await atHead(test, bad)
    const isWitness = ({ method }: { method: string }): boolean => method === 'debug_executionWitnessByHash'
    bad.more = (request) => (isWitness(request) ? { result: { state: ['bad'] } } : undefined)
    silent.fault = (requests) => (requests.some(isWitness) ? { hang: true } : undefined)
    test.judge = ({ witness }) => (witness?.includes('bad') ? { status: 'refused', field: 'witness', reason: 'no node' } : undefined)
    const next = blocksAfter(bad.head, 1)
    for (const upstream of upstreams) upstream.add(next)
    await atHead(test, bad)
    expect(test.given.at(-1)).toMatchObject({ source: 'witness', witness: JSON.stringify({ state: [next[0]?.hash] }) })
    expect(silent.asked('debug_executionWitnessByHash').length).toBeGreaterThan(0)
  })
})

describe('an upstream', () => {
  it('of another chain id is not followed', async () => {
    const upstream = await upstreamWith(2)
    upstream.chainId = 8
    const { node, test } = follow([upstream])
    await until(() => node.reason()?.includes('its chain id is 8, and 7 here') === true)
    expect(test.given).toEqual([])
  })

  it('of other rules is not followed', async () => {
    const upstream = await upstreamWith(2)
    upstream.more = ({ method }) =>
      method === 'eth_config'
        ? { result: { current: { activationTime: 0, forkId: '0x02', blobSchedule: null }, next: null, last: null } }
        : undefined
    const { node } = follow([upstream])
    await until(() => node.reason()?.includes('its rules are not ours: the fork id of the fork at 0 is 0x02') === true)
  })

  it('that restarts is followed again, also as another version', async () => {
    const upstream = await upstreamWith(2)
    const { node, test } = follow([upstream])
    await atHead(test, upstream)
    upstream.fault = () => ({ destroy: true })
    await until(() => node.reason()?.includes('socket hang up') === true)
    upstream.fault = () => undefined
    const probes = upstream.asked('web3_clientVersion').length
    upstream.add(blocksAfter(upstream.head, 1))
    await atHead(test, upstream)
    expect(upstream.asked('web3_clientVersion').length).toBe(probes + 1)
    expect(node.reason()).toBeUndefined()
  })

  it('that hangs is left for the next one', async () => {
    const [first, second] = [await upstreamWith(2), await upstreamWith(2)]
    const { test } = follow([first, second], { timeoutMs: 300 })
    await until(() => test.head.number === 2)
    first.fault = () => ({ hang: true })
    second.add(blocksAfter(second.head, 1))
    await atHead(test, second)
  })

  it('that sends more than a witness may have is left for the next', async () => {
    const [first, second] = [await upstreamWith(1), await upstreamWith(1)]
    first.more = ({ method }) => (method === 'debug_executionWitnessByHash' ? { result: 'x'.repeat(2_000_000) } : undefined)
    const { test, node } = follow([first, second])
    await until(() => test.head.number === 1 || node.reason()?.includes('an answer of more than') === true)
    expect(test.given.filter(({ witness }) => (witness?.length ?? 0) > 1_000_000)).toEqual([])
  })

  it('behind the others is not followed', async () => {
    const [behind, ahead] = [await upstreamWith(2), await upstreamWith(40)]
    const { test } = follow([behind, ahead])
    await atHead(test, ahead)
  })
})

describe('finality', () => {
  it('is passed on as far as the blocks are held', async () => {
    const upstream = await upstreamWith(10)
    upstream.more = ({ method, params }) => {
      const number = { safe: 8, finalized: 4 }[String(params[0])]
      if (method !== 'eth_getBlockByNumber' || number === undefined) return undefined
      return { result: { ...upstream.chain[number], number: hex(number) } }
    }
    const { test } = follow([upstream])
    await atHead(test, upstream)
    await until(() => test.finality.length > 0)
    expect(test.finality[0]).toEqual({ safe: upstream.chain[8]?.hash, finalized: upstream.chain[4]?.hash })
  })

  /** An upstream whose final block is this far below its head. */
  async function finalAt(depth: number): Promise<TestUpstream> {
    const upstream = await upstreamWith(10)
    upstream.more = ({ method, params }) => {
      if (method !== 'eth_getBlockByNumber' || !['safe', 'finalized'].includes(String(params[0]))) return undefined
      const number = upstream.head.number - depth
      return { result: { ...upstream.chain[number], number: hex(number) } }
    }
    return upstream
  }

  it('of a head is taken back where the chain replaces it', async () => {
    const upstream = await finalAt(0)
    const { test } = follow([upstream])
    await until(() => test.state().finalized?.number === 10)
    upstream.add(blocksAfter(upstream.chain[5] as TestBlock, 3, 'b'))
    await atHead(test, upstream)
    expect(test.finality.slice(0, 2).map(({ finalized }) => finalized)).toEqual([10, 5].map((number) => test.given[number - 1]?.hash))
  })

  it('of blocks below a head is kept: others in place are refused', async () => {
    const upstream = await finalAt(2)
    const { test, node } = follow([upstream])
    await until(() => test.state().finalized?.number === 8)
    const { head } = test
    upstream.add(blocksAfter(upstream.chain[5] as TestBlock, 6, 'b'))
    await until(() => node.reason()?.includes('the finalized block 8 would leave the chain') === true)
    expect(test.head).toEqual(head)
  })
})
