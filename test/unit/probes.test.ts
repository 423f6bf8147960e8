// /health and /ready, the refusal by a node that is opening, and how long a stop waits for answers
// in progress.
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { readyChecks } from '../../ts/cli/commands/node.ts'
import { statusOf } from '../../ts/cli/commands/status.ts'
import { resolveSettings } from '../../ts/config/index.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { StartingDispatch } from '../../ts/rpc/starting.ts'
import { type Server, startServer } from '../../ts/server/index.ts'
import { NotOpen } from '../../ts/server/metrics.ts'
import { createMetricsApp } from '../../ts/server/metrics-app.ts'
import { diskHasRoom, headIsYoung, Readiness } from '../../ts/server/readiness.ts'
import { fakeCore } from './fake-core.ts'

const opened: Server[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop()
})

const settingsOf = (flags: Record<string, string>) =>
  resolveSettings({ flags: new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0', ...flags })) })

const ask = async (url: string | undefined, body: unknown): Promise<unknown> => {
  const response = await fetch(url ?? '', { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const text = await response.text()
  return text === '' ? undefined : JSON.parse(text)
}

const probe = async (url: string | undefined, path: string): Promise<[number, unknown]> => {
  const response = await fetch(`${url}${path}`)
  return [response.status, await response.json()]
}

const request = (id: number | undefined, method = 'eth_blockNumber') => ({ jsonrpc: '2.0', ...(id === undefined ? {} : { id }), method })
const STARTING = { code: -32000, message: 'node is starting' }

it('a development chain is ready without a consensus client', async () => {
  const { settings } = settingsOf({ 'engine.enabled': 'true', 'state-commit.flatkv.min_free_bytes': '0' })
  const core = fakeCore({ engineForkchoiceAge: 'null' })
  const reasons = async (mode: 'dev' | 'start') => {
    const found = await Promise.all(readyChecks(core, mode, '/', settings, undefined).map((check) => check()))
    return found.filter((reason) => reason !== undefined)
  }
  expect(await reasons('dev')).toEqual([])
  expect(await reasons('start')).toEqual(['no consensus client has chosen a head yet'])
})

describe('a node that opens', () => {
  it('answers "node is starting" first, then each request', async () => {
    const { settings } = settingsOf({})
    const readiness = new Readiness()
    const starting = new StartingDispatch(batchLimits(settings))
    const server = await startServer(settings, starting.dispatch, { report: () => undefined, readiness })
    opened.push(server)
    const { httpUrl } = server
    expect(await ask(httpUrl, request(1))).toEqual({ jsonrpc: '2.0', id: 1, error: STARTING })
    expect(await ask(httpUrl, [request(1), request(undefined), { id: 2 }])).toEqual([
      { jsonrpc: '2.0', id: 1, error: STARTING },
      { jsonrpc: '2.0', id: 2, error: { code: -32600, message: 'invalid request' } },
    ])
    expect(await ask(httpUrl, request(undefined))).toBeUndefined()
    expect(await probe(httpUrl, '/health')).toEqual([200, { status: 'ok' }])
    expect(await probe(httpUrl, '/ready')).toEqual([
      503,
      { status: 'not ready', reasons: ['opening: the stores are being opened and their log replayed'] },
    ])
    starting.become(makeDispatch(rpcContext(fakeCore({ blockNumber: '"0x1b"' }), settings), batchLimits(settings), () => undefined))
    readiness.opened([])
    expect(await ask(httpUrl, request(1))).toEqual({ jsonrpc: '2.0', id: 1, result: '0x1b' })
    expect(await probe(httpUrl, '/ready')).toEqual([200, { status: 'ready', reasons: [] }])
    readiness.drain()
    expect(await probe(httpUrl, '/ready')).toEqual([503, { status: 'not ready', reasons: ['draining: the node is stopping'] }])
    expect(await probe(httpUrl, '/health')).toEqual([200, { status: 'ok' }])
  })

  it('has no metrics yet, but probes beside them', async () => {
    const reported: unknown[] = []
    const scrape = async () => {
      throw new NotOpen('node is starting')
    }
    const app = createMetricsApp(scrape, (e) => reported.push(e), new Readiness())
    const page = await app.request('/metrics')
    expect([page.status, await page.text(), reported]).toEqual([503, 'node is starting\n', []])
    expect((await app.request('/health')).status).toBe(200)
    expect((await app.request('/ready')).status).toBe(503)
  })
})

describe('a node with WebSocket alone', () => {
  const flags = { 'evm.http_enabled': 'false' }

  it('answers probes on that port', async () => {
    const { settings } = settingsOf(flags)
    const readiness = new Readiness()
    const starting = new StartingDispatch(batchLimits(settings))
    const server = await startServer(settings, starting.dispatch, { report: () => undefined, readiness })
    opened.push(server)
    expect(server.httpUrl).toBeUndefined()
    const url = server.wsUrl?.replace(/^ws:/, 'http:')
    expect(await probe(url, '/health')).toEqual([200, { status: 'ok' }])
    expect(await probe(url, '/ready')).toEqual([
      503,
      { status: 'not ready', reasons: ['opening: the stores are being opened and their log replayed'] },
    ])
    readiness.opened([])
    expect(await probe(url, '/ready')).toEqual([200, { status: 'ready', reasons: [] }])
    const other = await fetch(`${url}/`)
    expect([other.status, await other.text()]).toEqual([426, 'this port speaks WebSocket alone\n'])
  })

  it('is found by `hearth status`, with its height', async () => {
    const { settings } = settingsOf(flags)
    const readiness = new Readiness()
    readiness.opened([])
    const dispatch = makeDispatch(rpcContext(fakeCore({ blockNumber: '"0x1b"' }), settings), batchLimits(settings), () => undefined)
    const server = await startServer(settings, dispatch, { report: () => undefined, readiness })
    opened.push(server)
    const node = {
      pid: process.pid,
      mode: 'start',
      transactions: 'kept',
      version: 'Hearth/test',
      startedAt: Date.now(),
      httpUrl: null,
      wsUrl: server.wsUrl ?? null,
      debugUrl: null,
      metricsUrl: null,
      baking: null,
    } as const
    expect(await statusOf('/nowhere', node)).toMatchObject({ ready: true, reasons: [], height: 27 })
    await server.stop()
    expect(await statusOf('/nowhere', node)).toMatchObject({ ready: null, reasons: ['the node does not answer'], height: null })
  })
})

describe('what speaks against requests', () => {
  it('a head that is too old', async () => {
    const check = headIsYoung(
      async () => 1000,
      60_000,
      () => 1_061_000,
    )
    expect(await check()).toBe('head is 61 s old, over 60 s (evm.ready_max_head_age)')
    expect(
      await headIsYoung(
        async () => 1000,
        60_000,
        () => 1_060_000,
      )(),
    ).toBeUndefined()
  })

  it('a disk that is nearly full', async () => {
    expect(await diskHasRoom('/', Number.MAX_SAFE_INTEGER)()).toMatch(
      /^disk has \d+ bytes left, under \d+ \(state-commit\.flatkv\.min_free_bytes\)$/,
    )
    expect(await diskHasRoom('/', 1)()).toBeUndefined()
  })

  it('a check that fails, each reason by itself', async () => {
    const readiness = new Readiness()
    readiness.opened([
      () => undefined,
      () => 'first',
      async () => {
        throw new Error('second')
      },
    ])
    expect(await readiness.report()).toEqual({ status: 'not ready', reasons: ['first', 'a check failed: second'] })
  })
})

describe('a stop', () => {
  const slow = async (ms: number, withinMs: string): Promise<unknown> => {
    const { settings } = settingsOf({ 'evm.shutdown_timeout': withinMs })
    let begun: () => void = () => undefined
    const running = new Promise<void>((resolve) => {
      begun = resolve
    })
    const core = fakeCore({
      blockNumber: async () => {
        begun()
        await new Promise((resolve) => setTimeout(resolve, ms))
        return '"0x1b"'
      },
    })
    const dispatch = makeDispatch(rpcContext(core, settings), batchLimits(settings), () => undefined)
    const server = await startServer(settings, dispatch, { report: () => undefined })
    const answer = ask(server.httpUrl, request(1)).catch(() => 'cut off')
    await running
    await server.stop()
    return await answer
  }

  it('waits for answers that are under way', async () => {
    // It waits for the answer, and not for the time that it may wait.
    expect(await slow(300, '10m')).toEqual({ jsonrpc: '2.0', id: 1, result: '0x1b' })
  })

  it('cuts off what takes longer', async () => {
    expect(await slow(3_600_000, '200ms')).toBe('cut off')
  })

  it('does not wait longer for a silent WebSocket client', async () => {
    const { settings } = settingsOf({ 'evm.shutdown_timeout': '200ms' })
    const dispatch = makeDispatch(rpcContext(fakeCore({}), settings), batchLimits(settings), () => undefined)
    const server = await startServer(settings, dispatch, { report: () => undefined })
    const socket = new WebSocket(server.wsUrl ?? '')
    await new Promise((resolve) => socket.once('open', resolve))
    socket.on('error', () => undefined).pause()
    const from = performance.now()
    await server.stop()
    // The client's end of the connection would be waited for much longer.
    expect(performance.now() - from).toBeLessThan(25_000)
    socket.terminate()
  })
})
