// Subscriptions over WebSocket on the wire: go-ethereum's shapes, their end, their limits, and a
// client that does not read.
import fs from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { PATIENCE_MS, sleep, until } from './waiting.ts'

const home = tempHome()
const FROM = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
let node: RunningNode

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly subscription: string; readonly result: unknown }
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** A connection that keeps what it is sent. */
class Client {
  readonly messages: Message[] = []
  readonly socket: WebSocket
  readonly closed: Promise<{ code: number; reason: string }>
  private id = 0

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', (data) => this.messages.push(JSON.parse(data.toString()) as Message))
    this.closed = new Promise((resolve) => socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() })))
  }

  static async open(): Promise<Client> {
    const socket = new WebSocket(node.ws)
    const client = new Client(socket)
    await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
    return client
  }

  async ask(method: string, ...params: unknown[]): Promise<Message> {
    const id = ++this.id
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    return this.until((m) => m.id === id)
  }

  async until(holds: (message: Message) => boolean): Promise<Message> {
    await until(`a message like ${holds}`, () => this.messages.some(holds), 10)
    return this.messages.find(holds) as Message
  }

  results(subscription: unknown): unknown[] {
    return this.messages.filter((m) => m.params?.subscription === subscription).map((m) => m.params?.result)
  }
}

const send = async (): Promise<string> => (await rpc(node.url, 'eth_sendTransaction', [{ from: FROM, to: FROM }])).result as string

beforeAll(async () => {
  node = await startNode([
    'dev',
    '--home',
    home,
    '--evm.max_subscriptions_logs=3',
    '--evm.max_subscriptions_new_head=1000',
    '--evm.filter_timeout=1s',
  ])
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

describe('eth_subscribe', () => {
  it('sends heads as go-ethereum does, and nothing after its end', async () => {
    const client = await Client.open()
    const { result: id } = await client.ask('eth_subscribe', 'newHeads')
    await send()
    const head = (await client.until((m) => m.params?.subscription === id)).params?.result as Record<string, unknown>
    expect(client.messages.at(-1)?.method).toBe('eth_subscription')
    const block = (await rpc(node.url, 'eth_getHeaderByNumber', ['latest'])).result
    expect(head).toEqual(block)
    expect(Object.keys(head).sort()).toEqual(
      [
        ...[
          'baseFeePerGas',
          'blobGasUsed',
          'difficulty',
          'excessBlobGas',
          'extraData',
          'gasLimit',
          'gasUsed',
          'hash',
          'logsBloom',
          'miner',
        ],
        ...['mixHash', 'nonce', 'number', 'parentBeaconBlockRoot', 'parentHash', 'receiptsRoot', 'requestsHash', 'sha3Uncles', 'stateRoot'],
        ...['timestamp', 'transactionsRoot', 'withdrawalsRoot'],
      ].sort(),
    )
    expect(await client.ask('eth_unsubscribe', id)).toMatchObject({ result: true })
    expect((await client.ask('eth_unsubscribe', id)).error).toEqual({ code: -32000, message: 'subscription not found' })
    const count = client.messages.length
    await send()
    await client.ask('eth_blockNumber')
    expect(client.messages.length).toBe(count + 1)
    client.socket.terminate()
  })

  it('sends receipts of each block, or of named transactions', async () => {
    const client = await Client.open()
    const all = await client.ask('eth_subscribe', 'transactionReceipts')
    const first = await send()
    await client.until((m) => m.params?.subscription === all.result)
    const receipt = (hash: string) => rpc(node.url, 'eth_getTransactionReceipt', [hash]).then(({ result }) => result)
    expect(client.results(all.result)).toEqual([[await receipt(first)]])
    const none = await client.ask('eth_subscribe', 'transactionReceipts', { transactionHashes: [first] })
    expect((await client.ask('eth_subscribe', 'transactionReceipts', { transactionHashes: Array(201).fill(first) })).error).toEqual({
      code: -32000,
      message: 'exceed max number of transaction hashes allowed per transactionReceipts subscription',
    })
    const second = await send()
    await until('the second block', () => client.results(all.result).length === 2)
    expect(client.results(all.result)[1]).toEqual([await receipt(second)])
    // The transaction that is named was in the block before.
    expect(client.results(none.result)).toEqual([])
    await rpc(node.url, 'evm_mine')
    const third = await send()
    await until('the block after an empty one', () => client.results(all.result).length === 3)
    expect(client.results(all.result)[2]).toEqual([await receipt(third)])
    client.socket.terminate()
  })

  it('sends pending transactions by hash and whole', async () => {
    const client = await Client.open()
    const [hashes, whole] = [
      await client.ask('eth_subscribe', 'newPendingTransactions'),
      await client.ask('eth_subscribe', 'newPendingTransactions', true),
    ]
    const hash = await send()
    await client.until((m) => m.params?.subscription === whole.result)
    expect(client.results(hashes.result)).toEqual([hash])
    expect(client.results(whole.result)).toMatchObject([{ hash, from: FROM, blockHash: null, blockNumber: null, transactionIndex: null }])
    client.socket.terminate()
  })

  it('refuses unknown ones and too many; a close makes room', async () => {
    const client = await Client.open()
    const refusal = async (...params: unknown[]) => (await client.ask('eth_subscribe', ...params)).error
    expect(await refusal('foo')).toEqual({ code: -32601, message: 'no "foo" subscription in eth namespace' })
    expect(await refusal('logs')).toEqual({ code: -32602, message: 'missing value for required argument 1' })
    expect(await refusal('logs', { topics: 'x' })).toMatchObject({ code: -32602 })
    expect(await refusal('newPendingTransactions', 'x')).toMatchObject({ code: -32602 })
    for (const name of ['newHeads', 'syncing'])
      expect(await refusal(name, {})).toEqual({ code: -32602, message: 'too many arguments, want at most 1' })
    expect((await client.ask('eth_subscribe', 'syncing')).result).toMatch(/^0x/)
    for (let i = 0; i < 3; i++) expect((await client.ask('eth_subscribe', 'logs', {})).result).toMatch(/^0x/)
    expect(await refusal('logs', {})).toEqual({ code: -32005, message: 'too many subscriptions to logs: at most 3' })
    client.socket.close()
    await client.closed
    const other = await Client.open()
    await expect.poll(async () => (await other.ask('eth_subscribe', 'logs', {})).error, { timeout: PATIENCE_MS }).toBeUndefined()
    other.socket.terminate()
  })

  it('closes a connection that does not read with 1013', async () => {
    const client = await Client.open()
    for (let i = 0; i < 1000; i++) {
      client.socket.send(JSON.stringify({ jsonrpc: '2.0', id: 10_000 + i, method: 'eth_subscribe', params: ['newHeads'] }))
    }
    await client.until((m) => m.id === 10_999)
    expect((await client.ask('eth_subscribe', 'newHeads')).error).toEqual({
      code: -32005,
      message: 'too many subscriptions to new heads: at most 1000',
    })
    client.socket.pause()
    const other = await Client.open()
    const { result: watching } = await other.ask('eth_subscribe', 'newPendingTransactions')
    // Each head is a thousand notifications of two kilobytes. A client that reads gets all of them,
    // in spite of one that does not.
    for (let i = 0; i < 25; i++) await send()
    await until('the last of them', () => other.results(watching).length === 25)
    await sleep(500)
    other.socket.terminate()
    client.socket.resume()
    const { code, reason } = await client.closed
    expect(code).toBe(1013)
    expect(Number(/^(\d+) notifications missed$/.exec(reason)?.[1])).toBeGreaterThan(5000)
    expect((await rpc(node.url, 'eth_blockNumber')).result).toMatch(/^0x/)
  })
})

describe('filters', () => {
  it('end when nobody asks for evm.filter_timeout', async () => {
    // A machine that is busy may take longer than that between two requests: another filter is
    // opened then.
    let id: unknown
    await until('a filter that is there', async () => {
      id = (await rpc(node.url, 'eth_newBlockFilter')).result
      return JSON.stringify((await rpc(node.url, 'eth_getFilterChanges', [id])).result) === '[]'
    })
    await sleep(3000)
    expect((await rpc(node.url, 'eth_getFilterChanges', [id])).error).toEqual({ code: -32000, message: 'filter not found' })
  })
})
