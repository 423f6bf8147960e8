// No client holds the last of what all share.
import net from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { resolveSettings } from '../../ts/config/index.ts'
import { FILTERS_MAX } from '../../ts/rpc/follow/limits.ts'
import { Shares } from '../../ts/rpc/shares.ts'
import { Admission } from '../../ts/server/admission/index.ts'
import type { Server } from '../../ts/server/index.ts'
import { until } from '../e2e/waiting.ts'
import { fakeCore } from './fake-core.ts'
import { type Flags, serveCore } from './serving.ts'

const opened: Server[] = []
const sockets: net.Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of opened.splice(0)) await server.stop()
})

async function serve(flags: Flags = {}, dev = false): Promise<Server> {
  const server = await serveCore(fakeCore({ blockNumber: '"0x1b"' }), flags, dev)
  opened.push(server)
  return server
}

/** An address of this machine for each client. */
const [MANY, OTHER] = ['127.0.0.2', '127.0.0.3']

/**
 * A connection from an address; whether it was admitted is known once the node has answered or
 * closed it.
 */
function connect(url: string | undefined, from: string): Promise<'open' | 'closed'> {
  const { protocol, hostname, port } = new URL(url ?? '')
  return new Promise((resolve) => {
    const socket = net.connect({ host: hostname, port: Number(port), localAddress: from })
    sockets.push(socket)
    socket.on('error', () => resolve('closed')).on('close', () => resolve('closed'))
    socket.once('data', () => resolve('open'))
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
    const asking = `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const key = 'a'.repeat(22)
    const upgrading = `GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ${key}==\r\nSec-WebSocket-Version: 13\r\n\r\n`
    socket.write(protocol === 'ws:' ? upgrading : asking)
  })
}

interface Reply {
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** A WebSocket from an address that sends one request after the other. */
async function caller(
  url: string | undefined,
  from: string,
  headers: Record<string, string> = {},
): Promise<(method: string, ...params: unknown[]) => Promise<Reply>> {
  const socket = new WebSocket(url ?? '', { localAddress: from, headers })
  sockets.push(socket as unknown as net.Socket)
  Object.assign(socket, { destroy: () => socket.terminate() })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  return (method, ...params) =>
    new Promise((resolve) => {
      socket.once('message', (data) => resolve(JSON.parse(data.toString())))
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))
    })
}

describe('shares', () => {
  it('are a part of the limit, one at least', () => {
    expect([new Shares(10, 0.5), new Shares(3, 0.5), new Shares(1, 0.5), new Shares(0, 0.5)].map(({ most }) => most)).toEqual([5, 1, 1, 0])
    expect(new Shares(10, 1).most).toBe(Number.POSITIVE_INFINITY)
  })

  it('are taken and returned, and idle clients are forgotten', () => {
    const shares = new Shares(10, 0.3)
    expect([shares.take('a'), shares.take('a', 2), shares.take('a'), shares.take('b', 3), shares.take('b')]).toEqual([
      true,
      true,
      false,
      true,
      false,
    ])
    shares.release('a', 2)
    expect([shares.take('a', 3), shares.take('a', 2)]).toEqual([false, true])
    shares.release('a', 3)
    shares.release('b', 3)
    expect(shares.clients).toBe(0)
    for (let i = 0; i < 20; i++) expect(shares.take(undefined)).toBe(true)
  })
})

describe('connections', () => {
  it.each(['httpUrl', 'wsUrl'] as const)('of one address leave room for others (%s)', async (listener) => {
    const server = await serve({ 'evm.max_open_connections': '8' })
    const from = async (address: string, count: number): Promise<string[]> => {
      const states: string[] = []
      for (let i = 0; i < count; i++) states.push(await connect(server[listener], address))
      return states
    }
    expect(await from(MANY, 6)).toEqual([...Array(4).fill('open'), ...Array(2).fill('closed')])
    expect(await from(OTHER, 1)).toEqual(['open'])
    // Ended by both sides, and the server has counted them out.
    const left = sockets.splice(0, 2).map((socket) => new Promise((resolve) => socket.resume().once('close', resolve).end()))
    await Promise.all(left)
    await turn()
    expect(await from(MANY, 3)).toEqual(['open', 'open', 'closed'])
  })

  it('of a trusted proxy have no share', async () => {
    const server = await serve({ 'evm.max_open_connections': '8', 'evm.trusted_proxy_cidrs': `${MANY}/32` })
    for (let i = 0; i < 8; i++) expect(await connect(server.httpUrl, MANY)).toBe('open')
  })

  it('over IPv6 are counted by the first 64 bits', () => {
    const admission = new Admission(resolveSettings({ flags: new Map([['evm.trusted_proxy_cidrs', '10.0.0.0/8']]) }).settings)
    const ownerOf = (remoteAddress: string | undefined) => admission.ownerOf({ remoteAddress } as net.Socket)
    expect(ownerOf('2001:db8:1:2::9')).toBe(ownerOf('2001:db8:1:2:3:4:5:6'))
    expect(ownerOf('2001:db8:1:3::9')).not.toBe(ownerOf('2001:db8:1:2::9'))
    expect([ownerOf('::ffff:203.0.113.9'), ownerOf('10.1.2.3'), ownerOf(undefined)]).toEqual(['203.0.113.9', undefined, undefined])
  })

  it('have no share on a development chain', async () => {
    const server = await serve({ 'evm.max_open_connections': '4' }, true)
    for (let i = 0; i < 4; i++) expect(await connect(server.httpUrl, MANY)).toBe('open')
  })
})

describe('bytes of bodies', () => {
  /**
   * Sends a whole body of so many bytes, or all but its last byte; resolves to the first bytes of
   * the answer.
   */
  function send(url: string | undefined, from: string, bytes: number, isWhole: boolean): Promise<string> {
    const { hostname, port } = new URL(url ?? '')
    return new Promise((resolve) => {
      const socket = net.connect({ host: hostname, port: Number(port), localAddress: from })
      sockets.push(socket)
      socket.on('error', () => resolve('')).once('data', (data) => resolve(data.toString()))
      const body = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'.padEnd(bytes, ' ')
      // Chunks are read by node:http, never by the fast path.
      const head = 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
      const chunk = `${head}${bytes.toString(16)}\r\n${body}`
      socket.write(isWhole ? `${chunk}\r\n0\r\n\r\n` : chunk.slice(0, -1))
    })
  }

  it('of one address leave room for others', async () => {
    const sizes = { 'evm.max_request_body_bytes': '4 KiB', 'evm.max_concurrent_request_bytes': '16 KiB' }
    const { httpUrl } = await serve(sizes)
    for (let i = 0; i < 2; i++) void send(httpUrl, MANY, 4096, false)
    let refused = ''
    await until('both bodies to be there', async () => {
      refused = await send(httpUrl, MANY, 100, true)
      return !refused.startsWith('HTTP/1.1 200')
    })
    expect(refused).toMatch(/^HTTP\/1\.1 429 /)
    expect(refused).toContain('server busy: too many bytes of requests of one client (evm.max_share_per_client)')
    expect(await send(httpUrl, OTHER, 4096, true)).toMatch(/^HTTP\/1\.1 200 /)
    // What was taken is given back with the connections.
    for (const socket of sockets.splice(0)) socket.destroy()
    await until('room again', async () => (await send(httpUrl, MANY, 4096, true)).startsWith('HTTP/1.1 200'))
  })
})

describe('subscriptions', () => {
  it.each([
    ['newHeads', 'new heads', 'evm.max_subscriptions_new_head'],
    ['logs', 'logs', 'evm.max_subscriptions_logs'],
  ] as const)('to %s of one client leave room for others', async (kind, name, key) => {
    const { wsUrl } = await serve({ [key]: '4' })
    const [first, second, other] = [await caller(wsUrl, MANY), await caller(wsUrl, MANY), await caller(wsUrl, OTHER)]
    const subscribe = kind === 'logs' ? [kind, {}] : [kind]
    const id = (await first('eth_subscribe', ...subscribe)).result
    expect((await second('eth_subscribe', ...subscribe)).result).toMatch(/^0x/)
    expect((await second('eth_subscribe', ...subscribe)).error).toEqual({
      code: -32005,
      message: `too many subscriptions to ${name} of one client: at most 2 (evm.max_share_per_client)`,
    })
    expect((await other('eth_subscribe', ...subscribe)).result).toMatch(/^0x/)
    expect((await first('eth_unsubscribe', id)).result).toBe(true)
    expect((await second('eth_subscribe', ...subscribe)).result).toMatch(/^0x/)
  })

  it('are counted for the client that a trusted proxy names', async () => {
    const { wsUrl } = await serve({ 'evm.max_subscriptions_new_head': '4', 'evm.trusted_proxy_cidrs': `${MANY}/32` })
    const of = (client: string) => caller(wsUrl, MANY, { 'x-forwarded-for': client })
    const results: unknown[] = []
    for (const client of ['198.51.100.1', '198.51.100.1', '198.51.100.1', '198.51.100.2'])
      results.push((await (await of(client))('eth_subscribe', 'newHeads')).error?.code)
    expect(results).toEqual([undefined, undefined, -32005, undefined])
  })
})

describe('filters', () => {
  it('of one client leave room for others', async () => {
    const { wsUrl } = await serve({ 'evm.max_share_per_client': '0.0002' })
    const [first, other] = [await caller(wsUrl, MANY), await caller(wsUrl, OTHER)]
    expect(FILTERS_MAX * 0.0002).toBe(2)
    const ids = [await first('eth_newBlockFilter'), await first('eth_newFilter', {})].map(({ result }) => result)
    for (const [method, ...params] of [['eth_newBlockFilter'], ['eth_newFilter', {}], ['eth_newPendingTransactionFilter']] as const)
      expect((await first(method, ...params)).error).toEqual({
        code: -32005,
        message: 'too many filters of one client: at most 2 (evm.max_share_per_client)',
      })
    expect((await other('eth_newBlockFilter')).result).toMatch(/^0x/)
    expect((await first('eth_uninstallFilter', ids[0])).result).toBe(true)
    expect((await first('eth_newPendingTransactionFilter')).result).toMatch(/^0x/)
  })
})
