// Transactions from the pool to CometBFT, and reads of CometBFT's RPC, with a fake server.
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { broadcast, firstBatch, Gossip, type Verdict, verdictOf } from '../../ts/consensus/gossip.ts'
import { fetchNetwork } from '../../ts/consensus/join.ts'
import { type RefusalKind, refusalKind } from '../../ts/consensus/refusals.ts'
import { type EngineView, EngineViews, engineView } from '../../ts/consensus/rpc.ts'
import type { HandlerContext } from '../../ts/rpc/method.ts'
import { syncing } from '../../ts/rpc/methods/eth/syncing.ts'
import { peerCount } from '../../ts/rpc/methods/net/peerCount.ts'
import type { Network } from '../../ts/rpc/network.ts'
import { until } from '../e2e/waiting.ts'
import { fakeCore } from './fake-core.ts'

const cleanups: (() => void)[] = []
afterEach(() => {
  for (const clean of cleanups.splice(0).reverse()) clean()
})

type Answer = (path: string, body: string) => unknown

/** A server that answers with JSON. */
async function serve(answer: Answer): Promise<string> {
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (part) => {
      body += part
    })
    request.on('end', () => response.end(JSON.stringify(answer((request.url ?? '').slice(1), body))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('what CometBFT says of a transaction', () => {
  it.each<[string | undefined, Verdict]>([
    [undefined, 'taken'],
    ['tx already exists in cache', 'taken'],
    ['mempool is full: number of txs 5000 (max: 5000)', 'again'],
    ['Tx too large. Max size is 1048576, but got 2000000', 'refused'],
  ])('%s', (data, verdict) => {
    expect(verdictOf(data === undefined ? undefined : { message: 'Internal error', data })).toBe(verdict)
  })

  it.each<[number, string, RefusalKind]>([
    [-32603, 'tx (AB) not found', 'not_found'],
    [-32603, 'height 99 must be less than or equal to the current blockchain height 5', 'bad_request'],
    [-32603, 'page should be within [1, 1] range, given 2', 'bad_request'],
    [-32602, 'anything', 'bad_request'],
    [-32603, 'Tx too large. Max size is 1048576, but got 2000000', 'too_large'],
    [-32603, 'read message: EOF', 'app_gone'],
    [-32603, 'transaction indexing is disabled', 'other'],
  ])('%d %s', (code, data, kind) => {
    expect(refusalKind({ code, message: 'Internal error', data })).toBe(kind)
  })

  it('is asked in batches of bounded length', () => {
    const hexes = ['0x01', '0203', '0x040506']
    expect(firstBatch(hexes)).toEqual(['AQ==', 'AgM=', 'BAUG'])
    expect(firstBatch(hexes, 1000, 2)).toEqual(['AQ==', 'AgM='])
    expect(firstBatch(hexes, 210)).toEqual(['AQ==', 'AgM='])
    // One that is alone goes whatever its length.
    expect(firstBatch(hexes, 1)).toEqual(['AQ=='])
  })

  it('is matched by number, whatever the order of the answers', async () => {
    const bodies: unknown[] = []
    const url = await serve((_, body) => {
      bodies.push(JSON.parse(body))
      return [
        { id: 1, error: { message: 'Internal error', data: 'mempool is full' } },
        { id: 0, result: {} },
      ]
    })
    expect(await broadcast(url, ['AQ==', 'AgM=', 'BAUG'])).toEqual(['taken', 'again', 'again'])
    expect(bodies).toEqual([
      ['AQ==', 'AgM=', 'BAUG'].map((tx, id) => ({ jsonrpc: '2.0', id, method: 'broadcast_tx_async', params: { tx } })),
    ])
  })
})

describe('gossip', () => {
  it('brings each transaction once, in order, and retries', async () => {
    const pool = [['0x01', '0x02'], [], ['0x03']]
    const sent: string[][] = []
    const verdicts: Verdict[][] = [['taken', 'again'], ['refused']]
    const warnings: string[] = []
    const gossip = new Gossip({
      reap: async () => pool.shift() ?? [],
      send: async (batch) => {
        sent.push([...batch])
        return verdicts.shift() ?? batch.map(() => 'taken')
      },
      isUp: () => true,
      warn: (message) => warnings.push(message),
      everyMs: 1,
      againMs: 1,
    })
    cleanups.push(() => gossip.stop())
    gossip.start()
    await until('three batches', () => sent.length === 3)
    expect(sent).toEqual([['AQ==', 'Ag=='], ['Ag=='], ['Aw==']])
    expect(warnings).toEqual(['CometBFT does not take transactions that the pool has'])
  })

  it('keeps its batch while CometBFT is away, and takes no more', async () => {
    let [reaps, fails, isUp] = [0, 3, false]
    const sent: string[][] = []
    const warnings: string[] = []
    const gossip = new Gossip({
      reap: async () => (++reaps === 1 ? ['0x01'] : []),
      send: async (batch) => {
        if (fails-- > 0) throw new Error('CometBFT does not answer: ECONNREFUSED')
        sent.push([...batch])
        return batch.map(() => 'taken')
      },
      isUp: () => isUp,
      warn: (message, { why }) => warnings.push(`${message}: ${why}`),
      everyMs: 1,
      againMs: 1,
    })
    cleanups.push(() => gossip.stop())
    gossip.start()
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(reaps).toBe(0)
    isUp = true
    await until('it is sent', () => sent.length === 1)
    expect(sent).toEqual([['AQ==']])
    // Once for a time of silence.
    expect(warnings).toEqual(['transactions wait for CometBFT: CometBFT does not answer: ECONNREFUSED'])
  })
})

const STATUS = {
  node_info: { id: 'ab'.repeat(20), network: 'hearth-5', listen_addr: 'tcp://0.0.0.0:7', moniker: 'x' },
  sync_info: { latest_block_height: '40', earliest_block_height: '1', catching_up: true },
  validator_info: { address: 'A', voting_power: '10' },
}
const NET = { n_peers: '1', peers: [{ node_info: { id: 'cd'.repeat(20), listen_addr: 'tcp://0.0.0.0:9' }, remote_ip: '127.0.0.1' }] }
const GENESIS = '{"chain_id":"hearth-5","é":1}'

describe('the RPC of CometBFT', () => {
  const answers = (path: string): unknown => {
    if (path === 'status') return { result: STATUS }
    if (path === 'net_info') return { result: NET }
    if (path === 'dump_consensus_state') {
      const peers = ['71', '90', '0'].map((height) => ({ peer_state: { round_state: { height } } }))
      return { result: { round_state: { height: '41', round: 2 }, peers } }
    }
    const [, chunk] = /^genesis_chunked\?chunk=(\d)$/.exec(path) ?? []
    const half = Buffer.from(GENESIS).length / 2
    const data = Buffer.from(GENESIS).subarray(Number(chunk) * half, (Number(chunk) + 1) * half)
    return chunk === undefined ? { error: { message: 'no' } } : { result: { total: '2', data: data.toString('base64') } }
  }

  it('says how a node does', async () => {
    expect(await engineView(await serve(answers))).toEqual({
      height: 40,
      catchingUp: true,
      votingPower: 10,
      peers: 1,
      deciding: 41,
      round: 2,
      highestPeer: 89,
    })
  })

  it('needs the status, but not the state of consensus', async () => {
    const url = await serve((path) => (path === 'dump_consensus_state' ? { error: { message: 'x' } } : answers(path)))
    expect(await engineView(url)).toMatchObject({ height: 40, round: null, highestPeer: null })
    await expect(engineView(await serve(() => ({ error: { message: 'a', data: 'b' } })))).rejects.toThrow('status: a b')
  })

  it('is asked once a second at most', async () => {
    let [asked, now] = [0, 0]
    const view = async (): Promise<EngineView> => ({ height: ++asked }) as EngineView
    const views = new EngineViews('', view, () => now)
    expect([await views.get(), await views.get()]).toEqual([{ height: 1 }, { height: 1 }])
    now = 1000
    expect(await views.get()).toEqual({ height: 2 })
  })

  it('gives genesis and peers to nodes that join', async () => {
    const url = await serve(answers)
    expect(await fetchNetwork([url])).toEqual({
      genesis: GENESIS,
      peers: [`${'ab'.repeat(20)}@127.0.0.1:7`, `${'cd'.repeat(20)}@127.0.0.1:9`],
      local: true,
    })
    const silent = await serve(() => ({ error: { message: 'busy' } }))
    await expect(fetchNetwork([silent])).rejects.toThrow(`the network cannot be joined through ${silent}: `)
  })
})

describe('methods of JSON-RPC', () => {
  const call = async (method: typeof peerCount, network: Network | undefined): Promise<unknown> => {
    const result = await method.call({ core: fakeCore({ syncing: 'false' }), network } as unknown as HandlerContext, [])
    return JSON.parse(typeof result === 'string' ? result : Buffer.from(result as Uint8Array).toString())
  }
  const network = (catchingUp: boolean): Network => ({
    peers: async () => 17,
    sync: async () => ({ catchingUp, height: 16, highest: 255 }),
  })
  const away: Network = { peers: async () => Promise.reject(new Error('away')), sync: async () => Promise.reject(new Error('away')) }

  it('say what the network is', async () => {
    expect([await call(peerCount, network(true)), await call(peerCount, undefined), await call(peerCount, away)]).toEqual([
      '0x11',
      '0x0',
      '0x0',
    ])
    expect(await call(syncing, network(true))).toEqual({ startingBlock: '0x0', currentBlock: '0x10', highestBlock: '0xff' })
    expect([await call(syncing, network(false)), await call(syncing, undefined), await call(syncing, away)]).toEqual([false, false, false])
  })
})
