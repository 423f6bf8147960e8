// Requests that go to another node: its answer comes back unchanged, and every other outcome has
// its own failure within its bounds.
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import { resolveSettings, SettingError } from '../../ts/config/index.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { type ForwardOptions, forwardTo } from '../../ts/peers/forward.ts'
import { NoAnswer, post, Refused } from '../../ts/peers/post.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { NO_METER } from '../../ts/rpc/meter.ts'
import { RequestContext } from '../../ts/server/request-context.ts'
import { until } from '../e2e/waiting.ts'
import { drain, fakeCore } from './fake-core.ts'

const HASH = `0x${'ab'.repeat(32)}`
const SECRET = 'hunter2'

const servers: (http.Server | net.Server)[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    if (server instanceof http.Server) server.closeAllConnections()
    server.close()
  }
})

type Serve = (body: string, response: http.ServerResponse, request: http.IncomingMessage) => void

/** A server on a free port; its URL has credentials and a key. */
async function serverOf(serve: Serve): Promise<string> {
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (data) => {
      body += data
    })
    request.on('end', () => serve(body, response, request))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://user:${SECRET}@127.0.0.1:${(server.address() as AddressInfo).port}/key-${SECRET}`
}

const json = (response: http.ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

const answering =
  (answer: object): Serve =>
  (body, response) =>
    json(response, { jsonrpc: '2.0', id: JSON.parse(body).id, ...answer })

/** Forwards one request; returns the outcome, and the reports to the operator. */
async function one(url: string, more: Partial<ForwardOptions> = {}) {
  const reasons: string[] = []
  const forward = forwardTo({ url, timeoutMs: 5000, inFlightMax: 2, onFailure: (reason) => reasons.push(reason), ...more })
  return [await forward('eth_sendRawTransaction', ['0x01']), reasons] as const
}

describe('a forwarded request', () => {
  it('ends with its client where it waits for a block', async () => {
    let isClosed = false
    const seen: string[] = []
    const url = await serverOf((body, response, request) => {
      const { method } = JSON.parse(body) as { method: string }
      seen.push(method)
      if (method === 'eth_sendRawTransaction') return answering({ result: HASH })(body, response, request)
      // It never answers the other one.
      response.once('close', () => {
        isClosed = true
      })
    })
    const reported: unknown[] = []
    const { settings } = resolveSettings({ flags: new Map([['evm.forward_url', url]]) })
    const reasons: string[] = []
    const submission = forwardTo({ url, timeoutMs: 60_000, inFlightMax: 1, onFailure: (reason) => reasons.push(reason) })
    const context = { ...rpcContext(fakeCore({}), settings), submission }
    const dispatch = makeDispatch(context, batchLimits(settings), (e) => reported.push(e))
    const request = (method: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: ['0x01'] })
    const client = new RequestContext('http', '10.0.0.1', () => 0)
    const answer = dispatch(request('eth_sendRawTransactionSync'), client)
    await until('the other node has the request', () => seen.length === 1)
    client.leave()
    const { error } = JSON.parse(await drain(await answer))
    expect(error).toEqual({ code: -32000, message: 'the client has left' })
    await until('the connection is closed', () => isClosed)
    // It is no failure of the other node, and its place is free.
    const next = new RequestContext('http', '10.0.0.1', () => 0)
    expect(JSON.parse(await drain(await dispatch(request('eth_sendRawTransaction'), next))).result).toBe(HASH)
    expect([reasons, reported]).toEqual([[], []])
  })

  it('reaches the node with credentials as a header', async () => {
    const seen: unknown[] = []
    const url = await serverOf((body, response, { headers, url }) => {
      seen.push(JSON.parse(body), headers.authorization, headers['x-mark'], url)
      answering({ result: HASH })(body, response, undefined as never)
    })
    expect(await one(url, { headers: { 'x-mark': '1' } })).toEqual([{ result: HASH }, []])
    const basic = `Basic ${Buffer.from(`user:${SECRET}`).toString('base64')}`
    const request = { jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: ['0x01'] }
    expect(seen).toEqual([request, basic, '1', `/key-${SECRET}`])
  })

  it('brings back an error with its code, message and data', async () => {
    const error = { code: 3, message: 'execution reverted', data: { reason: ['0x01'] } }
    expect(await one(await serverOf(answering({ error })))).toEqual([{ error }, []])
  })

  it('follows no redirect', async () => {
    let reached = 0
    const target = await serverOf((body, response, request) => {
      reached++
      answering({ result: HASH })(body, response, request)
    })
    const url = await serverOf((_, response) => response.writeHead(307, { location: target }).end())
    expect(await one(url)).toEqual([{ failure: 'unusable' }, ['HTTP status 307, and redirects are not followed']])
    expect(reached).toBe(0)
  })

  it.each<[string, Serve]>([
    ['text', (_, response) => response.end('hello')],
    ['an answer with another id', (_, response) => json(response, { jsonrpc: '2.0', id: 99, result: HASH })],
    ['an answer without a result', answering({})],
    ['an error without a code', answering({ error: { message: 'no' } })],
    ['status 503', (_, response) => response.writeHead(503).end()],
    ['a connection that ends early', (_, response) => response.destroy()],
    [
      'more bytes than are read',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(Buffer.alloc(17 * 1024 * 1024, ' '))
      },
    ],
  ])('is unusable where the answer is %s', async (_, serve) => {
    const [answer, reasons] = await one(await serverOf(serve))
    expect([answer, reasons.length]).toEqual([{ failure: 'unusable' }, 1])
    expect(reasons[0]).not.toContain(SECRET)
  })

  it('ends at its time limit', async () => {
    const url = await serverOf(() => undefined)
    expect(await one(url, { timeoutMs: 50 })).toEqual([{ failure: 'timeout' }, ['no answer within the time limit']])
  })

  it('reuses its connection', async () => {
    const ports = new Set<number | undefined>()
    const url = await serverOf((body, response, request) => {
      ports.add(request.socket.remotePort)
      answering({ result: HASH })(body, response, request)
    })
    const forward = forwardTo({ url, timeoutMs: 5000, inFlightMax: 2 })
    for (let i = 0; i < 3; i++) expect(await forward('eth_sendRawTransaction', ['0x01'])).toEqual({ result: HASH })
    expect(ports.size).toBe(1)
  })

  it('reads answers in parts, without a length, after interim ones', async () => {
    let begun = 0
    const url = await serverOf((body, response) => {
      const answer = JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result: 'ä'.repeat(3) })
      const [first, rest] = [answer.slice(0, 20), answer.slice(20)]
      begun++
      if (begun === 2) response.writeEarlyHints({ link: '</>; rel=preload' })
      // As HTTP/1.0: the end of the connection is that of the answer.
      if (begun === 3) response.useChunkedEncodingByDefault = false
      response.setHeader('content-type', 'application/json')
      response.write(first)
      setTimeout(() => response.end(rest), 5)
    })
    const forward = forwardTo({ url, timeoutMs: 5000, inFlightMax: 2 })
    for (let i = 0; i < 4; i++) expect(await forward('eth_sendRawTransaction', ['0x01'])).toEqual({ result: 'äää' })
  })

  it('reads whole answers, whose heads may differ', async () => {
    const results = [HASH, HASH, 'äöü', '', 'x'.repeat(30_000), HASH]
    const ports = new Set<number | undefined>()
    const url = await serverOf((body, response, request) => {
      ports.add(request.socket.remotePort)
      const { id } = JSON.parse(body)
      // With its length, and in one write.
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[id - 1] }))
    })
    const forward = forwardTo({ url, timeoutMs: 5000, inFlightMax: 2 })
    for (const result of results) expect(await forward('eth_sendRawTransaction', ['0x01'])).toEqual({ result })
    expect(ports.size).toBe(1)
  })

  it.each([
    ['more than an answer', 'content-length: LENGTH\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'],
    ['the last answer', 'content-length: LENGTH\r\nconnection: close\r\n', ''],
  ])('keeps no connection that sent %s', async (_, headers, behind) => {
    let connections = 0
    const server = net.createServer((socket) => {
      connections++
      socket.on('error', () => undefined)
      socket.on('data', (request) => {
        const { id } = JSON.parse(String(request).split('\r\n\r\n')[1] ?? '')
        const answer = JSON.stringify({ jsonrpc: '2.0', id, result: HASH })
        socket.write(`HTTP/1.1 200 OK\r\n${headers.replaceAll('LENGTH', String(answer.length))}\r\n${answer}${behind}`)
      })
    })
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const forward = forwardTo({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, timeoutMs: 5000, inFlightMax: 2 })
    for (let i = 0; i < 3; i++) await forward('eth_sendRawTransaction', ['0x01'])
    expect(connections).toBe(3)
  })

  it('goes out on another connection once its own is closed', async () => {
    const ports = new Set<number | undefined>()
    const url = await serverOf((body, response, request) => {
      ports.add(request.socket.remotePort)
      answering({ result: HASH })(body, response, request)
    })
    const forward = forwardTo({ url, timeoutMs: 5000, inFlightMax: 2 })
    for (let i = 1; i <= 3; i++) {
      expect(await forward('eth_sendRawTransaction', ['ü'])).toEqual({ result: HASH })
      expect(ports.size).toBe(i)
      ;(servers.at(-1) as http.Server).closeAllConnections()
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })

  it('unpacks gzip, and bounds what it unpacks to', async () => {
    const gzip = (value: unknown): Buffer => gzipSync(JSON.stringify(value))
    const serve =
      (answer: Buffer): Serve =>
      (_, response) =>
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(answer)
    expect(await post(await serverOf(serve(gzip({ a: [HASH] }))), '{}', { timeoutMs: 5000 })).toEqual({ a: [HASH] })
    const answer = { jsonrpc: '2.0', id: 1, result: HASH }
    expect(await one(await serverOf(serve(gzip(answer))))).toEqual([{ result: HASH }, []])
    const bomb = await serverOf(serve(gzip({ ...answer, result: 'x'.repeat(17 * 1024 * 1024) })))
    expect(await one(bomb)).toEqual([{ failure: 'unusable' }, ['an answer of more than 16777216 bytes']])
    const large = post(await serverOf(serve(gzip('x'.repeat(1_000_000)))), '{}', { timeoutMs: 5000, answerBytesMax: 1000 })
    await expect(large).rejects.toThrow(new Refused('an answer of more than 1000 bytes'))
    const cut = post(await serverOf(serve(gzip({ a: [HASH] }).subarray(0, 20))), '{}', { timeoutMs: 5000 })
    await expect(cut).rejects.toThrow('unexpected end of file')
  })

  it('says where nothing was sent', async () => {
    const url = await serverOf(() => undefined)
    await new Promise((resolve) => servers.pop()?.close(resolve))
    const [answer, reasons] = await one(url)
    expect([answer, reasons]).toEqual([{ failure: 'unreachable' }, [expect.stringContaining('ECONNREFUSED')]])
    expect(reasons[0]).not.toContain(SECRET)
  })

  it('fails alone where its connection fails without waiting', async () => {
    // Nothing has a connection to the address of all; the error comes before any promise resolves.
    const failed = await new Promise((resolve) => {
      setImmediate(() => void post('http://255.255.255.255:9', '{}', { timeoutMs: 5000 }).catch(resolve))
    })
    expect(failed).toBeInstanceOf(NoAnswer)
    expect((failed as NoAnswer).timedOut).toBe(false)
  })

  it('is refused where as many as may wait for an answer', async () => {
    const waiting: (() => void)[] = []
    const url = await serverOf((body, response, request) => {
      waiting.push(() => answering({ result: HASH })(body, response, request))
    })
    const forward = forwardTo({ url, timeoutMs: 5000, inFlightMax: 2 })
    const two = [forward('eth_sendRawTransaction', ['0x01']), forward('eth_sendRawTransaction', ['0x02'])]
    expect(await forward('eth_sendRawTransaction', ['0x03'])).toEqual({ failure: 'busy' })
    while (waiting.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
    for (const answer of waiting.splice(0)) answer()
    expect(await Promise.all(two)).toEqual([{ result: HASH }, { result: HASH }])
    const next = forward('eth_sendRawTransaction', ['0x04'])
    while (waiting.length < 1) await new Promise((resolve) => setTimeout(resolve, 5))
    for (const answer of waiting.splice(0)) answer()
    expect(await next).toEqual({ result: HASH })
  })
})

/** A dispatcher of a node that makes no blocks, and the requests that it counted as forwarded. */
function nodeWith(settings: Record<string, string>) {
  const core = fakeCore({ sendRawTransaction: `"${HASH}"`, getTransactionCount: '"0x5"' })
  const resolved = resolveSettings({ flags: new Map(Object.entries(settings)) }).settings
  const counted: string[] = []
  const meter = { ...NO_METER, count: (counter: string, ...labels: readonly string[]) => counted.push(`${counter} ${labels.join(' ')}`) }
  const dispatch = makeDispatch(rpcContext(core, resolved), batchLimits(resolved), () => undefined, meter)
  const ask = async (method: string, params: unknown[], forwarded = false): Promise<Record<string, unknown>> => {
    const client = { connection: 'http' as const, forwarded, onDisconnect: () => undefined }
    const { result, error } = JSON.parse(await drain(await dispatch(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }), client)))
    return error ?? { result }
  }
  return { core, counted, ask }
}

describe('a node that makes no blocks', () => {
  const refusal = {
    code: -32000,
    message: 'this node makes no blocks and forwards transactions to no other node: set evm.forward_url',
  }

  it('refuses transactions, and keeps none', async () => {
    const { ask, core, counted } = nodeWith({})
    expect(await ask('eth_sendRawTransaction', ['0x01'])).toEqual(refusal)
    expect(await ask('eth_sendRawTransactionSync', ['0x01', 1])).toEqual(refusal)
    expect([core.asked, counted]).toEqual([[], []])
    expect(await ask('eth_getTransactionCount', [`0x${'00'.repeat(20)}`, 'pending'])).toEqual({ result: '0x5' })
  })

  it('keeps them for testing_buildBlockV1', async () => {
    expect(await nodeWith({ 'evm.namespaces': 'eth,testing' }).ask('eth_sendRawTransaction', ['0x01'])).toEqual({ result: HASH })
  })

  it('forwards them, and counts each by connection', async () => {
    const seen: unknown[] = []
    const url = await serverOf((body, response, { headers }) => {
      const { method, params, id } = JSON.parse(body)
      seen.push([method, params, headers['x-hearth-forwarded']])
      json(response, { jsonrpc: '2.0', id, result: HASH })
    })
    const { ask, core, counted } = nodeWith({ 'evm.forward_url': url, 'evm.namespaces': 'eth,testing' })
    const account = `0x${'00'.repeat(20)}`
    expect(await ask('eth_sendRawTransaction', ['0x01'])).toEqual({ result: HASH })
    expect(await ask('eth_sendRawTransactionSync', ['0x02', '0x10'])).toEqual({ result: HASH })
    expect(await ask('eth_getTransactionCount', [account, 'pending'])).toEqual({ result: HASH })
    expect(await ask('eth_getTransactionCount', [account, 'latest'])).toEqual({ result: '0x5' })
    expect(seen).toEqual([
      ['eth_sendRawTransaction', ['0x01'], '1'],
      ['eth_sendRawTransactionSync', ['0x02', '0x10'], '1'],
      ['eth_getTransactionCount', [account, 'pending'], '1'],
    ])
    expect(counted).toEqual([
      'redirected eth_sendRawTransaction http',
      'redirected eth_sendRawTransactionSync http',
      'redirected eth_getTransactionCount http',
    ])
    expect(core.asked.map(([op]) => op)).toEqual(['getTransactionCount'])
    // One that another node forwarded stays here.
    const loop = { code: -32000, message: 'another node forwarded this request: evm.forward_url of the nodes forms a loop' }
    expect(await ask('eth_sendRawTransaction', ['0x01'], true)).toEqual(loop)
    expect([seen.length, counted.length]).toEqual([3, 3])
  })

  it.each<[string, object]>([
    ['unreachable', { code: -32000, message: 'the node of evm.forward_url cannot be reached: the request was not sent' }],
    [
      'silent',
      {
        code: -32000,
        message: 'the node of evm.forward_url did not answer within evm.forward_timeout: it may have taken the request',
      },
    ],
  ])('says that the other node is %s', async (how, error) => {
    const url = await serverOf(() => undefined)
    if (how === 'unreachable') await new Promise((resolve) => servers.pop()?.close(resolve))
    const { ask, counted } = nodeWith({ 'evm.forward_url': url, 'evm.forward_timeout': '50ms' })
    expect(await ask('eth_sendRawTransaction', ['0x01'])).toEqual(error)
    expect(counted).toEqual(['redirected eth_sendRawTransaction http'])
  })
})

describe('evm.forward_max_in_flight', () => {
  it('answers that as many wait as may', async () => {
    const { ask } = nodeWith({
      'evm.forward_url': await serverOf(() => undefined),
      'evm.forward_max_in_flight': '1',
      'evm.forward_timeout': '1s',
    })
    const first = ask('eth_sendRawTransaction', ['0x01'])
    const message = 'node is busy: evm.forward_max_in_flight requests wait for the node of evm.forward_url'
    expect(await ask('eth_sendRawTransaction', ['0x02'])).toEqual({ code: -32005, message })
    expect(await first).toMatchObject({ code: -32000 })
  })
})

describe('evm.forward_url', () => {
  it.each(['htps://user:hunter2@host', 'http://', 'http://user:hunter2@ho st'])('is refused unseen: %s', (url) => {
    const resolve = () => resolveSettings({ flags: new Map([['evm.forward_url', url]]) })
    expect(resolve).toThrow(SettingError)
    expect(resolve).toThrow('--evm.forward_url takes none or a URL of JSON-RPC over HTTP such as https://node.example.org:8545, not "…"')
    expect(resolve).not.toThrow(SECRET)
  })
})
