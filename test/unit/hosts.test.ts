// Names under which requests come, by each way in: what has no URL of its own is served too.
import net from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { resolveSettings } from '../../ts/config/index.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { Readiness, type Server, startServer } from '../../ts/server/index.ts'
import { fakeCore } from './fake-core.ts'

const opened: Server[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop()
})

async function serve(flags: Record<string, string>): Promise<Server> {
  const given = { 'evm.http_port': '0', 'evm.ws_port': '0', ...flags }
  const { settings } = resolveSettings({ flags: new Map(Object.entries(given)) })
  const dispatch = makeDispatch(rpcContext(fakeCore({ blockNumber: '"0x1b"' }), settings), batchLimits(settings), () => undefined)
  const server = await startServer(settings, dispatch, { report: () => undefined, readiness: new Readiness() })
  opened.push(server)
  return server
}

/** The status of the answer to a request, and the last line of its body. */
function exchange(url: string | undefined, text: string): Promise<[status: string, last: string]> {
  const { hostname, port } = new URL(url ?? '')
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = net.connect(Number(port), hostname, () => socket.write(text))
    socket.on('data', (chunk) => {
      answer += chunk
    })
    socket.on('error', reject)
    socket.on('close', () => resolve([answer.slice(9, 12), answer.trimEnd().split('\n').at(-1) as string]))
  })
}

const BODY = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'
const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x1b"}'
const post = (head: string) =>
  `POST / HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${BODY.length}\r\nconnection: close\r\n\r\n${BODY}`

describe('a request for a host', () => {
  it.each([
    ['localhost', true],
    ['LOCALHOST:8545', true],
    ['localhost:', true],
    ['localhost:80', true],
    ['127.0.0.1:99999', true],
    ['::1', true],
    ['[::1]', true],
    ['[::1]:8545', true],
    ['fe80::1', true],
    ['evil.example', false],
    ['a b', false],
    ['localhost/..', false],
  ])('%s is served: %s', async (host, isServed) => {
    for (const fast of ['true', 'false']) {
      const { httpUrl } = await serve({ 'evm.http_fast_path': fast })
      const refusal = 'invalid host specified (evm.allowed_hosts)'
      expect(await exchange(httpUrl, post(`host: ${host}\r\n`)), fast).toEqual(isServed ? ['200', ANSWER] : ['403', refusal])
    }
  })

  it('is served under any name where all are allowed, or none', async () => {
    const { httpUrl } = await serve({ 'evm.allowed_hosts': '*' })
    for (const host of ['evil.example', 'a b', '%', '[', 'x:y:z']) {
      expect(await exchange(httpUrl, post(`host: ${host}\r\n`)), host).toEqual(['200', ANSWER])
      expect((await exchange(httpUrl, `GET /health HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`))[0], host).toBe('200')
    }
    expect(await exchange(httpUrl, post('').replace('HTTP/1.1', 'HTTP/1.0'))).toEqual(['200', ANSWER])
  })

  it('finds no other path, however large its body is', async () => {
    const { httpUrl } = await serve({})
    const head = `POST /elsewhere HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\nconnection: close\r\n\r\n`
    expect(await exchange(httpUrl, head + 'x'.repeat(100_000))).toEqual(['404', 'not found: JSON-RPC is at /'])
  })

  it('gets 426 from a port that speaks WebSocket alone', async () => {
    const { wsUrl } = await serve({})
    expect(await exchange(wsUrl?.replace('ws:', 'http:'), post('host: localhost\r\n'))).toEqual(['426', 'this port speaks WebSocket alone'])
  })
})
