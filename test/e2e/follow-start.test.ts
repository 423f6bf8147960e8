// The first moments of hearth follow: what it says of networks, and what becomes of requests that
// come before its upstream was reached, or before its first block.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Answer, type Asked, answered, type JsonServer, jsonServer } from '../unit/json-server.ts'
import { ALICE, Calls } from './dev-calls.ts'
import { caughtUp, type DevUpstream, devUpstream, FaultProxy, readyOf, startFollower } from './follow-nodes.ts'
import { type RunningNode, rpc, tempHome } from './harness.ts'

/** Genesis blocks and the newest fork ids of networks (go-ethereum v1.17.0, forkid_test.go). */
const NETWORKS = [
  ['sepolia', 11_155_111, '0x25a5cc106eea7138acab33231d7160d69cb777ee0c2c553fcddf5138993e6dd9', '0x268956b6'],
  ['holesky', 17_000, '0xb5f7f912443c940f21fd611f12828d75b534364ed9e95ca4e307729a4661bde4', '0x9bc6cb31'],
  ['hoodi', 560_048, '0xbbe312868b376a3001692a646dd2d7d1e4406380dfd86b98aa8a34d1557c971b', '0x23aa1351'],
] as const

/** A time after the last fork that is known. */
const NOW = 1_770_000_000

const ZERO_HASH = `0x${'00'.repeat(32)}`
const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

/** A header of a block without transactions. */
const headerAt = (number: number, hash: string): object => ({
  number: `0x${number.toString(16)}`,
  hash,
  parentHash: ZERO_HASH,
  sha3Uncles: '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347',
  miner: `0x${'00'.repeat(20)}`,
  stateRoot: EMPTY_ROOT,
  transactionsRoot: EMPTY_ROOT,
  receiptsRoot: EMPTY_ROOT,
  logsBloom: `0x${'00'.repeat(256)}`,
  difficulty: '0x0',
  gasLimit: '0x2255100',
  gasUsed: '0x0',
  timestamp: `0x${NOW.toString(16)}`,
  extraData: '0x',
  mixHash: ZERO_HASH,
  nonce: '0x0000000000000000',
  baseFeePerGas: '0x7',
  withdrawalsRoot: EMPTY_ROOT,
  blobGasUsed: '0x0',
  excessBlobGas: '0x0',
  parentBeaconBlockRoot: ZERO_HASH,
  requestsHash: '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  transactions: [],
  uncles: [],
  withdrawals: [],
})

const servers: JsonServer[] = []
const nodes: RunningNode[] = []
afterAll(async () => {
  for (const node of nodes.splice(0)) await node.stop()
  for (const server of servers.splice(0)) await server.stop()
})

/** A node of a network whose newest block is 100, and that has no block above it. */
async function networkNode(chainId: number, genesis: string): Promise<string> {
  const server = await jsonServer((requests, isBatch) =>
    answered(requests, isBatch, ({ method, params }: Asked): Answer => {
      if (method === 'eth_chainId') return { result: `0x${chainId.toString(16)}` }
      if (method === 'web3_clientVersion') return { result: 'Geth/v1.17.4/linux' }
      if (method === 'debug_executionWitness') return { error: { code: -32000, message: 'block not found' } }
      if (method !== 'eth_getBlockByNumber') return { error: { code: -32601, message: 'no such method' } }
      const number = params[0] === 'latest' ? 100 : Number(params[0])
      return { result: number > 100 || Number.isNaN(number) ? null : headerAt(number, number === 0 ? genesis : `0x${'aa'.repeat(32)}`) }
    }),
  )
  servers.push(server)
  return server.url
}

describe('networks', () => {
  it.each(NETWORKS)('%s needs no genesis file', async (_, chainId, genesis, forkId) => {
    const url = await networkNode(chainId, genesis)
    const node = await startFollower(tempHome(), url, '--from', '101', '--follow.timeout=3s')
    nodes.push(node)
    expect(node.log()).toContain(`follows chain ${chainId} from block 101 on`)
    const calls = new Calls(node.url)
    expect(Number(await calls.call('eth_chainId'))).toBe(chainId)
    expect(await calls.call('eth_config')).toMatchObject({ current: { forkId }, next: null })
  })

  it('of another genesis, or not built in, are refused', async () => {
    const follow = async (chainId: number, ...args: string[]): Promise<string> => {
      const url = await networkNode(chainId, `0x${'12'.repeat(32)}`)
      // The server of this process has to answer meanwhile.
      const node = startFollower(tempHome(), url, ...args)
      return await node.then(
        () => 'started',
        (e: Error) => e.message,
      )
    }
    expect(await follow(560_048, '--from', '101')).toMatch(/genesis hash/)
    const other = await follow(99_999)
    expect(other).toContain('has chain 99999, whose rules are not built in: give --genesis FILE, in go-ethereum format')
    expect(other).toContain('mainnet, sepolia, holesky, hoodi')
    expect(await follow(99_999, '--network', 'gnosis', '--from', '101')).toContain(
      'the rules of gnosis are not built in: give its genesis file',
    )
  })
})

describe('requests before anything is known', () => {
  let upstream: DevUpstream
  let proxy: FaultProxy
  let home: string
  beforeAll(async () => {
    upstream = await devUpstream()
    await new Calls(upstream.url).call('anvil_mine', '0x5')
    proxy = await FaultProxy.to(upstream.url)
    home = tempHome()
    const node = await startFollower(home, proxy.url, '--genesis', upstream.genesis, '--from', '3')
    await caughtUp(node.url, upstream.url)
    await node.stop()
  })
  afterAll(async () => {
    await proxy.close()
    await upstream.stop()
  })

  it('of the upstream wait until it is reached', async () => {
    let reached = (): void => undefined
    const gate = new Promise<void>((resolve) => {
      reached = resolve
    })
    proxy.damage = () => gate.then(() => undefined)
    const node = await startFollower(home, proxy.url)
    nodes.push(node)
    expect((await readyOf(node.url)).reasons[0]).toContain('not reached yet')
    let isAnswered = false
    const balance = new Calls(node.url).balance(ALICE).finally(() => {
      isAnswered = true
    })
    // The node serves others while that request waits.
    expect(Number(await new Calls(node.url).call('eth_blockNumber'))).toBe(5)
    expect(isAnswered).toBe(false)
    reached()
    proxy.damage = () => undefined
    expect(await balance).toBe(await new Calls(upstream.url).balance(ALICE))
    await node.stop()
  })

  it('fail with its state once their time is over', async () => {
    proxy.damage = () => 'hang'
    const node = await startFollower(home, proxy.url, '--follow.timeout=5s')
    nodes.push(node)
    const begun = performance.now()
    const { error } = await rpc(node.url, 'eth_getBalance', [ALICE, 'latest'])
    expect(performance.now() - begun).toBeGreaterThan(500)
    expect(error?.message).toContain('this node holds no state, and its upstream gives no answer')
    expect(error?.message).toContain(proxy.url)
    expect(Number(await new Calls(node.url).call('eth_blockNumber'))).toBe(5)
    await node.stop()
    proxy.damage = () => undefined
  })

  it('about the newest block, before the first one, are answered', async () => {
    proxy.hidden.add('debug_getRawBlock')
    proxy.damage = ({ method, params }) =>
      method === 'eth_getBlockByHash' && params[1] === true
        ? Buffer.from('{"jsonrpc":"2.0","id":1,"error":{"code":-32005,"message":"later"}}')
        : undefined
    const node = await startFollower(tempHome(), proxy.url, '--genesis', upstream.genesis, '--from', '3', '--follow.timeout=3s')
    nodes.push(node)
    for (const [method, ...params] of [
      ['eth_blockNumber'],
      ['eth_getBlockByNumber', 'latest', false],
      ['eth_getBalance', ALICE, 'latest'],
      ['eth_gasPrice'],
      ['eth_feeHistory', '0x2', 'latest', []],
      ['eth_getLogs', {}],
      ['eth_syncing'],
      ['debug_traceBlockByNumber', 'latest', {}],
      ['eth_getBlockReceipts', 'latest'],
      ['eth_newBlockFilter'],
      ['eth_maxPriorityFeePerGas'],
      ['eth_blobBaseFee'],
      ['eth_getTransactionCount', ALICE, 'pending'],
      ['eth_call', { to: ALICE }],
    ] as [string, ...unknown[]][]) {
      expect((await rpc(node.url, method, params)).error, method).toBeUndefined()
    }
    // The block below the first one, which the upstream has.
    expect(Number(await new Calls(node.url).call('eth_blockNumber'))).toBe(2)
    proxy.damage = () => undefined
    await caughtUp(node.url, upstream.url)
  })
})
