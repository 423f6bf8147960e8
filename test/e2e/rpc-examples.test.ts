// The examples of docs/rpc.md, each sent to a node with the demo chain, in order.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { Example } from '../../ts/rpc/page.ts'
import { ZERO } from './engine-client.ts'
import { blockOf, type Driven, drive, GENESIS_TIME, newHome, type TimedFork } from './engine-node.ts'
import { jsonDifference } from './guides/page.ts'
import { ROOT, type RunningNode, rpc, startNode } from './harness.ts'
import { until } from './waiting.ts'

const examplesOf = (file: string): readonly Example[] =>
  JSON.parse(fs.readFileSync(path.join(ROOT, 'docs/examples', file), 'utf8')) as readonly Example[]

/** Values in place of words in braces, in lists and objects too. */
function filled(value: unknown, words: ReadonlyMap<string, unknown>): unknown {
  if (typeof value === 'string') return words.has(value) ? words.get(value) : value
  if (Array.isArray(value)) return value.map((item) => filled(item, words))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, filled(item, words)]))
}

const ALICE = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const TRANSFER = { from: ALICE, to: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', value: '0x1', gas: '0x5208' }
const FIRST = '0x26fd249592c2dc293a76615c943298bee55c1e1ed2429979b3ab3dbbecb7676b'

/** The namespaces of the default, and one that is off there. */
const NAMESPACES = '--evm.namespaces=eth,net,web3,debug,txpool,rpc,chain,trace,ots,erigon,testing'

describe('docs/rpc.md', () => {
  let node: RunningNode
  /** The last result of each method. */
  const results = new Map<string, unknown>()
  const ask = async <T>(method: string, ...params: unknown[]): Promise<T> => (await rpc(node.url, method, params)).result as T

  /** What the words in braces stand for. */
  const words: Readonly<Record<string, () => unknown>> = {
    '{hash of block 4}': async () => (await ask<{ hash: string }>('eth_getBlockByNumber', '0x4', false)).hash,
    '{raw block 1}': () => ask('debug_getRawBlock', '0x1'),
    '{raw transaction}': () => ask('eth_getRawTransactionByHash', FIRST),
    '{signed transaction}': async () => (await ask<{ raw: string }>('eth_signTransaction', TRANSFER)).raw,
    '{filter}': () => results.get('eth_newFilter'),
    '{snapshot}': () => results.get('evm_snapshot'),
    '{hash of the head}': async () => (await ask<{ hash: string }>('eth_getBlockByNumber', 'latest', false)).hash,
    '{anvil_snapshot}': () => results.get('anvil_snapshot'),
    '{anvil_dumpState}': () => results.get('anvil_dumpState'),
    '{hardhat_dumpState}': () => results.get('hardhat_dumpState'),
  }

  beforeAll(async () => {
    node = await startNode(['dev', '--demo', NAMESPACES])
    await until('the demo', () => node.log().includes('runs out of gas'))
  })
  afterAll(() => node.stop())

  it.each(examplesOf('rpc.json'))('$method returns what the page shows', async ({ method, params, result, error }) => {
    const sent = await Promise.all(params.map((param) => (typeof param === 'string' && words[param]?.()) || param))
    const response = await rpc(node.url, method, sent)
    if (response.error === undefined) results.set(method, response.result)
    expect(response.error === undefined, JSON.stringify(response.error)).toBe(error === undefined)
    expect(error === undefined ? jsonDifference(result, response.result) : jsonDifference(error, response.error)).toBeUndefined()
  })
})

describe('subscriptions of docs/rpc.md', () => {
  let node: RunningNode
  let socket: WebSocket
  const messages: { id?: number; result?: unknown; error?: unknown; params?: { subscription: string; result: unknown } }[] = []
  const words = new Map<string, unknown>()

  beforeAll(async () => {
    node = await startNode(['dev', '--demo'])
    await until('the demo', () => node.log().includes('runs out of gas'))
    socket = new WebSocket(node.ws)
    socket.on('message', (data) => messages.push(JSON.parse(data.toString())))
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  })
  afterAll(async () => {
    socket.close()
    await node.stop()
  })

  it.each(examplesOf('rpc-subscriptions.json'))(
    '$method works as the page shows',
    async ({ method, params, result, error, notification }) => {
      const id = messages.length + 1
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params: filled(params, words) }))
      await until('the answer', () => messages.some((message) => message.id === id))
      const answer = messages.find((message) => message.id === id)
      expect(answer?.error).toEqual(error)
      expect(jsonDifference(result, answer?.result)).toBeUndefined()
      words.set(`{${method}}`, answer?.result)
      if (notification === undefined) return
      if (method === 'eth_subscribe') await rpc(node.url, 'eth_sendTransaction', [TRANSFER])
      const of = () => messages.find((message) => message.params?.subscription === answer?.result)?.params?.result
      await until('a notification', () => of() !== undefined)
      expect(jsonDifference(notification, of())).toBeUndefined()
    },
  )
})

/** What starts the build of block 1, from Cancun on. */
const ATTRIBUTES = {
  timestamp: `0x${(GENESIS_TIME + 12).toString(16)}`,
  prevRandao: ZERO,
  suggestedFeeRecipient: `0x${'fe'.repeat(20)}`,
  withdrawals: [],
  parentBeaconBlockRoot: ZERO,
}

/** Forks whose builds start with a method whose example is of an earlier fork. */
const STARTED: ReadonlySet<TimedFork> = new Set(['prague', 'osaka'])

describe.each(['paris', 'shanghai', 'cancun', 'prague', 'osaka'] as const)('the Engine API of docs/rpc.md, %s', (fork) => {
  const home = newHome(fork)
  let driven: Driven
  const words = new Map<string, unknown>()

  beforeAll(async () => {
    driven = await drive(home)
    const { hash } = await blockOf(driven.node, '0x0')
    words.set('{hash of block 0}', hash)
    if (!STARTED.has(fork)) return
    const state = { headBlockHash: hash, safeBlockHash: hash, finalizedBlockHash: hash }
    const { payloadId } = await driven.consensus.call<{ payloadId: string }>('engine_forkchoiceUpdatedV3', state, ATTRIBUTES)
    words.set('{payloadId}', payloadId)
  })
  afterAll(async () => {
    await driven.node.stop()
    fs.rmSync(home, { recursive: true, force: true })
  })

  const examples = examplesOf('rpc-engine.json').filter((example) => example.fork === fork)
  it.each(examples)('$method returns what the page shows', async ({ method, params, result }) => {
    const answer = await driven.consensus.ask(method, ...(filled(params, words) as unknown[]))
    expect(answer.error).toBeUndefined()
    expect(jsonDifference(result, answer.result)).toBeUndefined()
    const { payloadId, executionPayload, blockHash } = (answer.result ?? {}) as Record<string, unknown>
    if (payloadId !== undefined) words.set('{payloadId}', payloadId)
    // A payload of Paris is the result itself.
    const payload = executionPayload ?? (blockHash === undefined ? undefined : answer.result)
    if (payload !== undefined) words.set('{executionPayload}', payload)
  })
})
