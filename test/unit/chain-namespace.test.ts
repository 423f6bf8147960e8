// The namespace `chain`: what is enabled, over HTTP, WebSocket and in batches, its errors, their
// classes and its header.
import { createHash } from 'node:crypto'
import { type Hex, keccak256 } from 'viem'
import { afterEach, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { resolveSettings } from '../../ts/config/index.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { bech32 } from '../../ts/rpc/bech32.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { ENDPOINTS, NO_METER } from '../../ts/rpc/meter.ts'
import { OUTCOMES } from '../../ts/rpc/outcome.ts'
import { type Server, startServer } from '../../ts/server/index.ts'
import { fakeCore } from './fake-core.ts'

/** An answer of JSON-RPC: what the tests read of it. */
interface Answer {
  readonly result?: unknown
  readonly error: { readonly code: number; readonly message: string }
}

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

const HASH = `0x${'ab'.repeat(32)}`
const OTHER = `0x${'cd'.repeat(32)}`
/** A transaction of the origin of a fork, which the core does not have. */
const OF_ORIGIN = `0x${'ef'.repeat(32)}`
// The first account of the development phrase.
const ADDRESS = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const ACCOUNT = 'hearth17w0adeg64ky0daxwd2ugyuneellmjgnxq0gq95'
/** Its bytes behind another prefix, and others behind the right one. */
const [OTHER_PREFIX, OTHER_LENGTH] = [bech32('cosmos', Buffer.from(ADDRESS.slice(2), 'hex')), bech32('hearth', Buffer.alloc(32))]
const RECEIPT = { transactionHash: HASH, type: '0x2', logs: [] }

async function node(flags: Record<string, string> = {}) {
  const core = fakeCore({
    nativeReceipt: async (args) => JSON.stringify((args as { hash: string }).hash === HASH ? RECEIPT : null),
    getTransactionReceipt: async (args) => JSON.stringify((args as { hash: string }).hash === OF_ORIGIN ? RECEIPT : null),
    getRawTransaction: async (args) => ((args as { hash: string }).hash === HASH ? '"0x02ff"' : '"0x"'),
    keccak: async (args) => JSON.stringify(keccak256((args as { data: Hex }).data)),
    blockNumber: '"0x1b"',
  })
  const { settings } = resolveSettings({
    flags: new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0', 'evm.shutdown_timeout': '0s', ...flags })),
  })
  const samples: string[] = []
  const meter = {
    ...NO_METER,
    request: (endpoint: number, connection: number, outcome: number) =>
      samples.push(`${ENDPOINTS[endpoint]} ${connection} ${OUTCOMES[outcome]?.errorClass}`),
  }
  const dispatch = makeDispatch(rpcContext(core, settings), batchLimits(settings), () => undefined, meter)
  const server = await startServer(settings, dispatch, { report: () => undefined })
  servers.push(server)
  const post = async (body: unknown) => {
    const response = await fetch(server.httpUrl as string, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return {
      status: response.status,
      header: response.headers.get('chain-legacy-rpc-deprecation'),
      json: (await response.json()) as Answer,
    }
  }
  const overWebSocket = (body: unknown): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const socket = new WebSocket(server.wsUrl as string)
      socket.on('error', reject)
      socket.on('open', () => socket.send(JSON.stringify(body)))
      socket.on('message', (data) => {
        resolve(JSON.parse(data.toString()))
        socket.close()
      })
    })
  return { samples, post, overWebSocket }
}

const call = (method: string, ...params: unknown[]) => ({ jsonrpc: '2.0', id: 1, method, params })
const error = (method: string) => ({
  code: -32601,
  message: `${method} is not enabled on this node: add it to evm.enabled_legacy_chain_apis`,
  data: 'legacy_chain_deprecated',
})
const ALL = { 'evm.enabled_legacy_chain_apis': 'CHAIN_GETTRANSACTIONRECEIPT,chain_getEVMAddress,chain_getCosmosTx' }
const DEPRECATED = expect.stringMatching(/^methods of the namespace chain are deprecated: /)

it.each(['chain_getTransactionReceipt', 'chain_nothing', 'CHAIN_getTransactionReceipt', 'chain_gettransactionreceipt'])(
  '%s is not enabled without being named: over HTTP, WebSocket and in a batch',
  async (name) => {
    const { post, overWebSocket, samples } = await node()
    const answer = { jsonrpc: '2.0', id: 1, error: error(name) }
    expect(await post(call(name, HASH))).toEqual({ status: 200, header: null, json: answer })
    expect(await overWebSocket(call(name, HASH))).toEqual(answer)
    expect((await post([call('eth_blockNumber'), call(name, HASH)])).json).toEqual([{ jsonrpc: '2.0', id: 1, result: '0x1b' }, answer])
    const endpoint = name === 'chain_getTransactionReceipt' ? name : 'unknown'
    const counted = samples.filter((sample) => !sample.startsWith('eth_'))
    expect(counted).toEqual([0, 1, 0].map((connection) => `${endpoint} ${connection} chain_legacy_disabled`))
  },
)

it('serves the receipt with the header, whatever its case', async () => {
  const { post, overWebSocket } = await node(ALL)
  const answer = { jsonrpc: '2.0', id: 1, result: RECEIPT }
  expect(await post(call('chain_getTransactionReceipt', HASH))).toEqual({ status: 200, header: DEPRECATED, json: answer })
  expect(await overWebSocket(call('chain_getTransactionReceipt', HASH))).toEqual(answer)
  expect((await post(call('chain_getTransactionReceipt', OF_ORIGIN))).json).toEqual(answer)
  expect(await post([call('eth_blockNumber'), call('chain_getTransactionReceipt', OTHER)])).toEqual({
    status: 200,
    header: DEPRECATED,
    json: [
      { jsonrpc: '2.0', id: 1, result: '0x1b' },
      { jsonrpc: '2.0', id: 1, result: null },
    ],
  })
  expect((await post(call('eth_blockNumber'))).header).toBeNull()
  expect((await post(call('chain_getTransactionReceipt', '0x12'))).json.error.code).toBe(-32602)
  // No longer among those that are named.
  expect((await post(call('chain_getChainAddress', ADDRESS))).json.error).toEqual(error('chain_getChainAddress'))
})

it('the helpers are served by default', async () => {
  const { post, samples } = await node()
  const results = async (method: string, param: string) => (await post(call(method, param))).json
  expect((await results('chain_getChainAddress', ADDRESS)).result).toBe(ACCOUNT)
  expect((await results('chain_getEVMAddress', ACCOUNT)).result).toBe(ADDRESS)
  const operator = bech32('hearthvaloper', Buffer.from(ADDRESS.slice(2), 'hex'))
  expect((await results('chain_getEVMAddress', operator)).result).toBe(ADDRESS)
  for (const account of [OTHER_PREFIX, OTHER_LENGTH, `${ACCOUNT.slice(0, -1)}4`])
    expect((await results('chain_getEVMAddress', account)).error.message).toBe(`account ${account} has no EVM address`)
  expect((await results('chain_getEVMAddress', 'cosmos1"\n')).error).toEqual({
    code: -32000,
    message: 'account cosmos1"\n has no EVM address',
  })
  const sha256 = createHash('sha256').update(Buffer.from('02ff', 'hex')).digest('hex')
  expect((await results('chain_getCosmosTx', HASH)).result).toBe(sha256.toUpperCase())
  expect((await results('chain_getCosmosTx', OTHER)).error).toEqual({ code: -32000, message: 'receipt not found' })
  expect(samples).toEqual([
    'chain_getChainAddress 0 ',
    'chain_getEVMAddress 0 ',
    'chain_getEVMAddress 0 ',
    ...Array(4).fill('chain_getEVMAddress 0 association_missing'),
    'chain_getCosmosTx 0 ',
    'chain_getCosmosTx 0 jsonrpc_error',
  ])
})
