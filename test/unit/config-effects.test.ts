// What each setting does that has an effect now, over a served node with a core of the test's own.
// A setting without an effect is marked `inert` in its table; a setting that is neither here nor
// named as tested elsewhere fails.
import http from 'node:http'
import net from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { resolveSettings, SETTING_KEYS, type SettingKey, settingOf } from '../../ts/config/index.ts'
import type { Core } from '../../ts/core/port.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { type Server, startServer } from '../../ts/server/index.ts'
import { until } from '../e2e/waiting.ts'
import { fakeCore, fakeStream } from './fake-core.ts'

type Flags = Partial<Record<SettingKey, string>>

const settingsOf = (flags: Flags) => resolveSettings({ flags: new Map(Object.entries(flags)) }).settings

/** Settings whose effect other files of tests show. */
const ELSEWHERE: Partial<Record<SettingKey, string>> = {
  'evm.max_request_body_bytes': 'server.test.ts: 413 for a body over the limit',
  'evm.ws_max_payload_bytes': 'server.test.ts: closes on a message over the limit',
  'evm.ws_max_in_flight': 'server.test.ts: serves a bounded number of messages of a connection at a time',
  'evm.max_open_connections': 'server.test.ts: closes connections beyond the limit',
  'evm.max_share_per_client': 'shares.test.ts: of one address leave room for others',
  'evm.forward_url': 'forward.test.ts: a node that makes no blocks',
  'evm.forward_timeout': 'forward.test.ts: says that the other node is silent',
  'evm.forward_max_in_flight': 'forward.test.ts: answers that as many wait as may',
  'evm.max_trace_filter_results': 'account-search.test.ts: refuses more traces than the setting allows',
  'evm.enabled_legacy_chain_apis': 'chain-namespace.test.ts: is served where it is named',
  'evm.max_trace_filter_blocks': 'trace-namespace.test.ts: searches no more blocks than the setting allows',
  'evm.strict_trace_options': 'trace-options.test.ts: refuses unknown options where that is asked for',
  'evm.http_fast_path': 'fast-path.test.ts: is switched off by its setting',
  'evm.http_port': 'server.test.ts: refuses a port that is taken, with its setting',
  'evm.ws_port': 'server.test.ts: shares the port of HTTP where both settings name it',
  'evm.cors_origins': 'server.test.ts: lets the pages of allowed origins in',
  'evm.ws_origins': 'server.test.ts: refuses other paths and other origins',
  'evm.filter_timeout': 'subscriptions.test.ts: end when nobody asks for evm.filter_timeout',
  'evm.max_subscriptions_new_head': 'subscriptions.test.ts: refuses as many as are allowed of a kind',
  'evm.max_subscriptions_logs': 'subscriptions.test.ts: refuses as many as are allowed of a kind',
  'evm.trace_js_workers': 'tracer-command.test.ts',
  'evm.trace_js_queue_size': 'tracer-command.test.ts',
  'evm.trace_js_memory_bytes': 'tracer-command.test.ts',
  'evm.trace_js_output_bytes': 'tracer-command.test.ts',
  'evm.trace_js_require_confinement': 'tracer-command.test.ts',
  'littable.MetricsEnabled': 'littable-scripts.test.ts: a page of its own',
  'littable.MetricsPort': 'littable-scripts.test.ts: a page of its own',
  'evm.ready_max_head_age': 'probes.test.ts: a head that is too old',
  'evm.shutdown_delay': 'operator.test.ts: a rolling restart under load',
  'evm.shutdown_timeout': 'probes.test.ts: cuts off what takes longer',
  'engine.enabled': 'engine.test.ts: off by default',
  'engine.host': 'engine.test.ts: a node that a consensus client drives',
  'engine.port': 'engine.test.ts: a node that a consensus client drives',
  'engine.jwt_secret_file': 'engine.test.ts: makes the secret for its owner alone',
  'engine.max_request_body_bytes': 'engine.test.ts: refuses a body over its limit',
  'engine.ready_max_silence': 'engine.test.ts: is ready while fork choices come',
  'follow.upstream_urls': 'follow-command.test.ts: follows a node',
  'follow.upstream_ws_url': 'follow-node.test.ts: come by subscription',
  'follow.source': 'follow-node.test.ts: sources',
  'follow.verify': 'follow-node.test.ts: without proofs are refused',
  'follow.from': 'follow-command.test.ts: begins where the setting says',
  'follow.checkpoint': 'follow-command.test.ts: a checkpoint',
  'follow.poll_interval': 'follow-node.test.ts: heads',
  'follow.timeout': 'follow-node.test.ts: that hangs',
  'follow.reorg_blocks': 'follow-node.test.ts: deeper than the setting',
  'follow.max_witness_bytes': 'follow-node.test.ts: that sends more',
  'follow.at_once': 'follow-parts.test.ts: stays within its bounds of number',
  'follow.redirect': 'follow-redirect.test.ts: is refused where follow.redirect is off',
  'follow.redirect_max_in_flight': 'follow-redirect.test.ts: is limited in number',
  'follow.ready_lag_blocks': 'follow-redirect.test.ts: is not ready behind the setting',
  'consensus.enabled': 'cometbft.test.ts: a validator',
  'consensus.supervise': 'consensus-engine.test.ts: an engine of the operator',
  'consensus.cometbft_bin': 'consensus-program.test.ts: finds the program',
  'consensus.abci_address': 'consensus-program.test.ts: the socket',
  'consensus.rpc_host': 'consensus-engine.test.ts: what CometBFT is started with',
  'consensus.rpc_port': 'consensus-engine.test.ts: what CometBFT is started with',
  'consensus.p2p_host': 'consensus-engine.test.ts: what CometBFT is started with',
  'consensus.p2p_port': 'consensus-engine.test.ts: what CometBFT is started with',
  'consensus.timeout_commit': 'consensus-engine.test.ts: what CometBFT is started with',
  'consensus.tx_index': 'consensus-engine.test.ts: what CometBFT is started with',
  'consensus.proposal_budget': 'consensus-engine.test.ts: reach the configuration of the core',
  'consensus.retain_blocks': 'consensus-engine.test.ts: reach the configuration of the core',
  'consensus.snapshot_interval_blocks': 'consensus-engine.test.ts: reach the configuration of the core',
  'rest.enabled': 'cosmos-listeners.test.ts: are open where they are switched on',
  'rest.host': 'cosmos-listeners.test.ts: are open where they are switched on',
  'rest.port': 'cosmos-listeners.test.ts: are open where they are switched on',
  'rest.max_page': 'cosmos-listeners.test.ts: shortens pages',
  'grpc.enabled': 'cosmos-listeners.test.ts: are open where they are switched on',
  'grpc.host': 'cosmos-listeners.test.ts: are open where they are switched on',
  'grpc.port': 'cosmos-listeners.test.ts: are open where they are switched on',
  'consensus.redirect': 'redirect.test.ts: a request of a sender',
  'consensus.validator_rpc': 'redirect.test.ts: what is redirected',
  'consensus.redirect_timeout': 'redirect.test.ts: an owner that does not answer',
  'consensus.redirect_token_file': 'redirect.test.ts: carries the token',
  'consensus.ready_max_block_age': 'consensus-engine.test.ts: reasons for not being ready',
  'consensus.ready_lag_blocks': 'consensus-engine.test.ts: reasons for not being ready',
  'evm.explorer_artifacts': 'artifacts.test.ts: serves names and lines',
  'evm.explorer': 'explorer-pages.test.ts: serves the page where the setting says so',
  'evm.debug_host': 'auth.test.ts: the listener of debug methods',
  'evm.debug_port': 'auth.test.ts: the listener of debug methods',
  'evm.auth_token_file': 'auth.test.ts: a listener with tokens',
  'evm.auth_jwt_file': 'auth.test.ts: JWTs',
  'evm.auth_listeners': 'auth.test.ts: is only one of those that evm.auth_listeners names',
  'evm.auth_namespaces': 'auth.test.ts: namespaces that need a token',
  'evm.ws_ping_interval': 'limits.test.ts: a WebSocket whose other end has gone without a word',
  'evm.slow_request_threshold': 'operator.test.ts: requests that take long',
  'log.level': 'log.test.ts: levels',
  'log.levels': 'log.test.ts: levels',
  'log.format': 'operator.test.ts: the log',
  'evm.client_version': 'dev-first-minute.test.ts: answers the version of --client-version',
  'dev.silent': 'dev-first-minute.test.ts: prints nothing',
  'dev.verbose': 'dev-first-minute.test.ts: prints each request',
  'dev.json': 'dev-first-minute.test.ts: prints lines of JSON',
  'dev.fork_url': 'fork.test.ts',
  'dev.fork_block': 'fork.test.ts',
  'dev.fork_verify': 'fork.test.ts: that do not fit are an error that is not kept',
  'dev.fork_timeout': 'fork.test.ts: an origin that is slow',
  'dev.fork_cache_bytes': 'fork.test.ts: stays within its bytes',
  'metrics.enabled': 'metrics-scrape.test.ts',
  'metrics.host': 'metrics-scrape.test.ts',
  'metrics.port': 'metrics-scrape.test.ts',
  'metrics.legacy': 'metrics-scrape.test.ts',
  'metrics.otlp': 'metrics-otlp.test.ts',
  'evm.slow_request_traces': 'slow-spans.test.ts',
}

const opened: Server[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop()
})

/** A server over a core of the test's own, put together as `hearth start` does. */
async function serve(flags: Flags, core: Core = fakeCore({ blockNumber: '"0x1b"', call: '"0x"' })): Promise<Server> {
  const settings = settingsOf({ 'evm.http_port': '0', 'evm.ws_port': '0', ...flags })
  const dispatch = makeDispatch(rpcContext(core, settings), batchLimits(settings), () => undefined)
  const server = await startServer(settings, dispatch, { report: () => undefined })
  opened.push(server)
  return server
}

interface Reply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

function post(url: string | undefined, body: string, headers: http.OutgoingHttpHeaders = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, agent: false }
    const request = http.request(url ?? '', options, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

const asked = (method: string, params: unknown[] = []): string => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

async function ask(url: string | undefined, method: string, params: unknown[] = []): Promise<Record<string, unknown>> {
  return JSON.parse((await post(url, asked(method, params))).body)
}

const errorOf = async (
  url: string | undefined,
  method: string,
  params: unknown[],
): Promise<{ code: number; message: string } | undefined> =>
  (await ask(url, method, params)).error as { code: number; message: string } | undefined

/** Whether a WebSocket can be opened. */
const upgrades = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = new WebSocket(url)
    socket.on('open', () => {
      socket.close()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })

/**
 * Writes to a port; returns what arrived until the other side closed, and after how many
 * milliseconds that was.
 */
function talk(url: string | undefined, text: string, read = true): Promise<{ got: string; ms: number }> {
  return new Promise((resolve) => {
    const began = Date.now()
    const socket = net.connect(Number(new URL(url ?? '').port), '127.0.0.1')
    let got = ''
    socket.on('data', (data) => {
      got += data
    })
    if (!read) socket.pause()
    socket.on('error', () => undefined)
    socket.on('close', () => resolve({ got, ms: Date.now() - began }))
    socket.write(text)
  })
}

/** Time in which a bucket of one request a second gets its next token, in milliseconds. */
const TOKEN_MS = 1000

/**
 * The result of a run that ended before its bucket got its next token; on a busy machine that may
 * take several runs.
 */
async function beforeNextToken<T>(run: () => Promise<T>): Promise<T> {
  let result: T | undefined
  await until(`a run of less than ${TOKEN_MS} ms`, async () => {
    const began = performance.now()
    result = await run()
    return performance.now() - began < TOKEN_MS
  })
  return result as T
}

const HASH = `0x${'11'.repeat(32)}`
const ADDRESSES = ['a', 'b', 'c'].map((c) => `0x${c.repeat(40)}`)
const SLOTS = Object.fromEntries(['1', '2', '3'].map((c) => [`0x${c.repeat(64)}`, HASH]))
const REFUSED_TRACER = { code: -32000, message: 'tracer prestateTracer is not allowed on this node; allowed: callTracer, muxTracer' }

/** Settings whose effect shows in a served node. */
const SERVED: Partial<Record<SettingKey, () => Promise<void>>> = {
  'evm.http_enabled': async () => {
    const { httpUrl, wsUrl } = await serve({ 'evm.http_enabled': 'false' })
    expect(httpUrl).toBeUndefined()
    expect(await upgrades(wsUrl ?? '')).toBe(true)
  },
  'evm.ws_enabled': async () => {
    const on = await serve({})
    expect(await upgrades((on.httpUrl ?? '').replace('http', 'ws'))).toBe(true)
    const { httpUrl, wsUrl } = await serve({ 'evm.ws_enabled': 'false' })
    expect(wsUrl).toBeUndefined()
    expect(await upgrades((httpUrl ?? '').replace('http', 'ws'))).toBe(false)
    expect((await ask(httpUrl, 'eth_blockNumber')).result).toBe('0x1b')
  },
  'evm.http_host': async () => {
    const { httpUrl, wsUrl } = await serve({ 'evm.http_host': '127.0.0.2' })
    expect([httpUrl, wsUrl]).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.2:\d+$/), expect.stringMatching(/^ws:\/\/127\.0\.0\.1:/)])
    expect((await ask(httpUrl, 'eth_blockNumber')).result).toBe('0x1b')
  },
  'evm.ws_host': async () => {
    const { httpUrl, wsUrl } = await serve({ 'evm.ws_host': '127.0.0.2' })
    expect([httpUrl, wsUrl]).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:/), expect.stringMatching(/^ws:\/\/127\.0\.0\.2:\d+$/)])
    expect(await upgrades(wsUrl ?? '')).toBe(true)
  },
  'evm.namespaces': async () => {
    const { httpUrl } = await serve({ 'evm.namespaces': 'rpc' })
    expect((await ask(httpUrl, 'rpc_modules')).result).toEqual({ rpc: '1.0' })
    expect((await errorOf(httpUrl, 'eth_blockNumber', []))?.code).toBe(-32601)
  },
  'evm.deny_list': async () => {
    const { httpUrl } = await serve({ 'evm.deny_list': 'eth_call' })
    const batch = `[${asked('eth_blockNumber')},${asked('eth_call', [{ to: ADDRESSES[0] }])}]`
    expect(JSON.parse((await post(httpUrl, batch)).body)).toEqual([
      { jsonrpc: '2.0', id: 1, result: '0x1b' },
      { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'the method eth_call does not exist/is not available' } },
    ])
  },
  'evm.allowed_hosts': async () => {
    const statuses = async (allowed: string) => {
      const { httpUrl } = await serve({ 'evm.allowed_hosts': allowed })
      const { host } = new URL(httpUrl ?? '')
      const from = ['evil.example', 'Node.Example:8545', 'localhost', '[::1]:8545', '10.1.2.3', host]
      return await Promise.all(from.map(async (name) => (await post(httpUrl, asked('eth_blockNumber'), { host: name })).status))
    }
    expect(await statuses('localhost,node.example')).toEqual([403, 200, 200, 200, 200, 200])
    expect(await statuses('')).toEqual([403, 403, 403, 200, 200, 200])
    expect(await statuses('*')).toEqual([200, 200, 200, 200, 200, 200])
    const { wsUrl } = await serve({})
    const upgradesUnder = (name: string): Promise<boolean> =>
      new Promise((resolve) => {
        const socket = new WebSocket(wsUrl ?? '', { headers: { host: name } })
        socket.on('open', () => {
          socket.close()
          resolve(true)
        })
        socket.on('error', () => resolve(false))
      })
    expect([await upgradesUnder('evil.example'), await upgradesUnder('localhost:1')]).toEqual([false, true])
  },
  'evm.read_timeout': async () => {
    const { httpUrl } = await serve({ 'evm.read_timeout': '1s', 'evm.body_read_idle_timeout': 'off' })
    const { got, ms } = await talk(
      httpUrl,
      'POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    )
    expect(got).toMatch(/^HTTP\/1.1 408 /)
    expect([ms >= 900, ms < 20_000]).toEqual([true, true])
  },
  'evm.read_header_timeout': async () => {
    const { httpUrl } = await serve({ 'evm.read_header_timeout': '1s' })
    const { got, ms } = await talk(httpUrl, 'POST / HTTP/1.1\r\nhost: localhost\r\n')
    expect(got).toMatch(/^HTTP\/1.1 408 /)
    expect([ms >= 900, ms < 20_000]).toEqual([true, true])
  },
  'evm.body_read_idle_timeout': async () => {
    const { httpUrl } = await serve({ 'evm.body_read_idle_timeout': '300ms' })
    const { got, ms } = await talk(
      httpUrl,
      'POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    )
    expect(got).toMatch(/^HTTP\/1.1 408 [\s\S]*\r\n\r\nrequest timeout\n$/)
    expect([ms >= 300, ms < 8000]).toEqual([true, true])
  },
  'evm.idle_timeout': async () => {
    const { httpUrl } = await serve({ 'evm.idle_timeout': '1s' })
    const body = asked('eth_blockNumber')
    const { got, ms } = await talk(
      httpUrl,
      `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    )
    expect(got).toContain('"result":"0x1b"')
    expect([ms >= 900, ms < 60_000]).toEqual([true, true])
  },
  'evm.write_timeout': async () => {
    // More than the buffers of both ends hold.
    const size = 32 * 1024 * 1024
    const { httpUrl, wsUrl } = await serve({ 'evm.write_timeout': '1s' }, fakeCore({ blockNumber: `"${'x'.repeat(size)}"` }))
    const body = asked('eth_blockNumber')
    const request = `POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const connect = () => net.connect(Number(new URL(httpUrl ?? '').port), '127.0.0.1').on('error', () => undefined)
    const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
    // Long enough for the server to see twice that nothing was taken, on a busy machine too.
    const silence = 5000

    const silent = async (): Promise<number> => {
      const socket = connect()
      socket.write(request)
      await pause(silence)
      let got = 0
      socket.on('data', (data) => {
        got += data.length
      })
      await new Promise((resolve) => socket.once('close', resolve))
      return got
    }
    const silentSocket = async (): Promise<number> => {
      const socket = new WebSocket(wsUrl ?? '')
      const closed = new Promise<number>((resolve) => socket.on('close', resolve))
      await new Promise((resolve) => socket.once('open', resolve))
      socket.send(body)
      socket.pause()
      await pause(silence)
      socket.resume()
      return closed
    }
    /** Reads slowly but steadily, for longer than the limit. */
    const slow = async (): Promise<[got: number, ms: number]> => {
      const socket = connect()
      const began = Date.now()
      socket.write(request)
      let got = 0
      for await (const data of socket) {
        got += (data as Buffer).length
        if (Date.now() - began < 2000) await pause(20)
      }
      return [got, Date.now() - began]
    }
    const [cut, code, [whole, ms]] = await Promise.all([silent(), silentSocket(), slow()])
    expect(cut).toBeLessThan(size)
    expect(code).toBe(1006)
    expect(whole).toBeGreaterThan(size)
    expect(ms).toBeGreaterThan(1500)
  },
  'evm.rate_limiting_enabled': async () => {
    const limits: Flags = { 'evm.ip_rate_limit_rps': '1', 'evm.ip_rate_limit_burst': '2', 'evm.batch_request_limit': '2' }
    const statuses = (more: Flags) =>
      beforeNextToken(async () => {
        const { httpUrl } = await serve({ ...limits, ...more })
        const batch = `[${asked('eth_blockNumber')},${asked('eth_blockNumber')}]`
        return [(await post(httpUrl, batch)).status, (await post(httpUrl, asked('eth_blockNumber'))).status]
      })
    expect([await statuses({}), await statuses({ 'evm.rate_limiting_enabled': 'true' })]).toEqual([
      [200, 200],
      [200, 429],
    ])
  },
  'evm.ip_rate_limit_rps': async () => {
    const [httpUrl, first, second, third] = await beforeNextToken(async () => {
      const { httpUrl, wsUrl } = await serve({
        'evm.rate_limiting_enabled': 'true',
        'evm.ip_rate_limit_rps': '1',
        'evm.ip_rate_limit_burst': '1',
        'evm.batch_request_limit': '1',
      })
      const socket = new WebSocket(wsUrl ?? '')
      await new Promise((resolve) => socket.once('open', resolve))
      const first = await post(httpUrl, asked('eth_blockNumber'))
      const second = await post(httpUrl, asked('eth_blockNumber'))
      // The same client over WebSocket has the same bucket.
      const answer = new Promise<string>((resolve) => socket.once('message', (data) => resolve(data.toString())))
      socket.send(asked('eth_blockNumber'))
      const third = await answer
      socket.terminate()
      return [httpUrl, first, second, third] as const
    })
    expect([first.status, second.status, second.headers['retry-after']]).toEqual([200, 429, '1'])
    expect(JSON.parse(second.body)).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -32005, message: 'too many requests' } })
    expect(JSON.parse(third).error).toEqual({ code: -32005, message: 'too many requests' })
    await until('the next token', async () => (await post(httpUrl, asked('eth_blockNumber'))).status === 200)
  },
  'evm.ip_rate_limit_burst': async () => {
    const statuses = await beforeNextToken(async () => {
      const { httpUrl } = await serve({
        'evm.rate_limiting_enabled': 'true',
        'evm.ip_rate_limit_rps': '1',
        'evm.ip_rate_limit_burst': '3',
        'evm.batch_request_limit': '3',
      })
      const all = []
      for (let i = 0; i < 4; i++) all.push((await post(httpUrl, asked('eth_blockNumber'))).status)
      return all
    })
    expect(statuses).toEqual([200, 200, 200, 429])
  },
  'evm.trusted_proxy_cidrs': async () => {
    const limits: Flags = {
      'evm.rate_limiting_enabled': 'true',
      'evm.ip_rate_limit_rps': '1',
      'evm.ip_rate_limit_burst': '1',
      'evm.batch_request_limit': '1',
    }
    const statuses = (proxies: string) =>
      beforeNextToken(async () => {
        const { httpUrl } = await serve({ ...limits, 'evm.trusted_proxy_cidrs': proxies })
        const from = async (client: string) => (await post(httpUrl, asked('eth_blockNumber'), { 'x-forwarded-for': client })).status
        return [await from('198.51.100.1'), await from('198.51.100.2'), await from('198.51.100.2')]
      })
    expect([await statuses('127.0.0.0/8'), await statuses('10.0.0.0/8')]).toEqual([
      [200, 200, 429],
      [200, 429, 429],
    ])
  },
  'evm.max_request_values': async () => {
    const { httpUrl } = await serve({ 'evm.max_request_values': '1000' })
    const many = (n: number) => JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: Array(n).fill(0) })
    const refused = JSON.parse((await post(httpUrl, many(997))).body)
    expect(refused.error).toEqual({
      code: -32005,
      message: 'request too large: more than 1000 array elements and object members (evm.max_request_values)',
    })
    expect(JSON.parse((await post(httpUrl, many(996))).body).error.message).toBe('too many arguments, want at most 0')
  },
  'evm.max_concurrent_request_bytes': async () => {
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const core = fakeCore({
      blockNumber: async () => {
        await held
        return '"0x1b"'
      },
    })
    const bounds = { 'evm.max_concurrent_request_bytes': '2 KiB', 'evm.max_request_body_bytes': '2 KiB' }
    const { httpUrl } = await serve({ ...bounds, 'evm.max_share_per_client': '1' }, core)
    const padded = asked('eth_blockNumber').padEnd(1500)
    const waiting = post(httpUrl, padded)
    let refused = await post(httpUrl, padded)
    // The first may not have arrived yet; then this one was served behind it.
    if (refused.status === 200) refused = await post(httpUrl, padded)
    expect([refused.status, refused.body]).toEqual([429, 'server busy\n'])
    release()
    expect((await waiting).status).toBe(200)
    expect((await post(httpUrl, padded)).status).toBe(200)
  },
  'evm.ws_admission_timeout': async () => {
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const core = fakeCore({
      blockNumber: async () => {
        await held
        return '"0x1b"'
      },
    })
    const { wsUrl } = await serve(
      { 'evm.ws_admission_timeout': '50ms', 'evm.max_concurrent_request_bytes': '2 KiB', 'evm.ws_max_payload_bytes': '2 KiB' },
      core,
    )
    const open = async (): Promise<WebSocket> => {
      const socket = new WebSocket(wsUrl ?? '')
      await new Promise((resolve) => socket.once('open', resolve))
      return socket
    }
    const [first, second] = [await open(), await open()]
    const answers = [first, second].map(
      (socket) => new Promise<string>((resolve) => socket.once('message', (data) => resolve(data.toString()))),
    )
    const closed = new Promise<number>((resolve) => second.once('close', resolve))
    const padded = asked('eth_blockNumber').padEnd(1500)
    first.send(padded)
    await new Promise((resolve) => setTimeout(resolve, 100))
    second.send(padded)
    expect(JSON.parse((await answers[1]) ?? '').error).toEqual({
      code: -32005,
      message: 'server busy: too many bytes of requests of one client (evm.max_share_per_client)',
    })
    expect(await closed).toBe(1013)
    release()
    expect(JSON.parse((await answers[0]) ?? '').result).toBe('0x1b')
    first.terminate()
  },
  'evm.batch_request_limit': async () => {
    const { httpUrl } = await serve({ 'evm.batch_request_limit': '1' })
    const answer = JSON.parse((await post(httpUrl, `[${asked('eth_blockNumber')},${asked('eth_blockNumber')}]`)).body)
    expect(answer).toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -32600, message: 'batch too large' } }])
  },
  'evm.batch_response_max_size': async () => {
    const core = fakeCore({ blockNumber: `"${'x'.repeat(1024)}"` })
    const { httpUrl } = await serve({ 'evm.batch_response_max_size': '1024', 'evm.batch_concurrency': '1' }, core)
    const answer = JSON.parse((await post(httpUrl, `[${asked('eth_blockNumber')},${asked('eth_blockNumber')}]`)).body)
    expect(answer[0].result).toHaveLength(1024)
    expect(answer[1].error).toEqual({ code: -32003, message: 'response too large' })
  },
  'evm.batch_concurrency': async () => {
    let running = 0
    let most = 0
    const core = fakeCore({
      blockNumber: async () => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 5))
        running--
        return '1'
      },
    })
    const { httpUrl } = await serve({ 'evm.batch_concurrency': '3' }, core)
    await post(httpUrl, `[${Array.from({ length: 12 }, () => asked('eth_blockNumber')).join(',')}]`)
    expect(most).toBe(3)
  },
  'evm.gzip_threshold_bytes': async () => {
    const encoding = async (threshold: string) => {
      const { httpUrl } = await serve({ 'evm.gzip_threshold_bytes': threshold })
      return (await post(httpUrl, asked('eth_blockNumber'), { 'accept-encoding': 'gzip' })).headers['content-encoding']
    }
    expect([await encoding('16'), await encoding('1 KiB')]).toEqual(['gzip', undefined])
  },
  'evm.gzip_level': async () => {
    const text = Array.from({ length: 4000 }, (_, i) => (i * i).toString(36)).join(' ')
    const size = async (level: string) => {
      const { httpUrl } = await serve({ 'evm.gzip_level': level }, fakeCore({ blockNumber: JSON.stringify(text) }))
      return Number((await post(httpUrl, asked('eth_blockNumber'), { 'accept-encoding': 'gzip' })).headers['content-length'])
    }
    expect(await size('9')).toBeLessThan(await size('1'))
  },
  'evm.trace_transaction_timeout': async () => {
    const core = fakeCore({}, () => fakeStream(['1']))
    const { httpUrl } = await serve({ 'evm.trace_transaction_timeout': '7s' }, core)
    await ask(httpUrl, 'debug_traceTransaction', [HASH])
    await ask(httpUrl, 'debug_traceTransaction', [HASH, { timeout: '1s' }])
    expect(core.asked.map(([, args]) => (args as { config: unknown }).config)).toEqual([{ timeout: '7000ms' }, { timeout: '1s' }])
  },
  'evm.trace_stall_timeout': async () => {
    const chunk = 'x'.repeat(1024 * 1024)
    const stream = fakeStream(['"', ...Array.from({ length: 64 }, () => chunk), '"'])
    const { httpUrl } = await serve(
      { 'evm.trace_stall_timeout': '200ms' },
      fakeCore({}, () => stream),
    )
    const body = asked('debug_traceTransaction', [HASH])
    const request = `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    const socket = net.connect(Number(new URL(httpUrl ?? '').port), '127.0.0.1')
    socket.on('error', () => undefined)
    socket.write(request)
    await expect.poll(() => stream.cancelled).toBe(true)
    expect(stream.taken).toBeLessThan(66)
    socket.destroy()
  },
  'evm.trace_allowed_tracers': async () => {
    const { httpUrl } = await serve(
      { 'evm.trace_allowed_tracers': 'callTracer,muxTracer' },
      fakeCore({}, () => fakeStream(['{}'])),
    )
    const trace = (config?: unknown) => errorOf(httpUrl, 'debug_traceTransaction', [HASH, config])
    expect(await trace({ tracer: 'callTracer' })).toBeUndefined()
    expect(await trace({ tracer: 'muxTracer', tracerConfig: { callTracer: {}, muxTracer: { callTracer: null } } })).toBeUndefined()
    expect(await trace({ tracer: 'prestateTracer' })).toEqual(REFUSED_TRACER)
    expect(await trace({ tracer: 'callTracer', TRACER: 'prestateTracer' })).toEqual(REFUSED_TRACER)
    expect(await trace({ tracer: 'muxTracer', TracerConfig: { muxTracer: { prestateTracer: {} } } })).toEqual(REFUSED_TRACER)
    for (const config of [undefined, {}, { tracer: null }, { tracer: 'callTracer', Tracer: null }]) {
      expect((await trace(config))?.message).toMatch(/^tracer structLogger is not allowed/)
    }
    expect((await errorOf(httpUrl, 'debug_traceCall', [{}, 'latest', { tracer: 'prestateTracer' }]))?.code).toBe(-32000)
    expect((await errorOf(httpUrl, 'debug_traceBlockByNumber', ['0x1', { tracer: 'prestateTracer' }]))?.code).toBe(-32000)
  },
  'evm.trace_allow_js_tracers': async () => {
    const script = { tracer: '{step(){}, fault(){}, result(){}}' }
    const core = fakeCore({}, () => fakeStream(['{}']))
    const { httpUrl } = await serve({ 'evm.trace_allow_js_tracers': 'false' }, core)
    const refused = { code: -32000, message: 'JavaScript tracers are not allowed on this node' }
    expect(await errorOf(httpUrl, 'debug_traceTransaction', [HASH, script])).toEqual(refused)
    expect(core.asked).toEqual([])
    const open = await serve({}, core)
    expect(await errorOf(open.httpUrl, 'debug_traceTransaction', [HASH, script])).toBeUndefined()
  },
  'evm.max_state_override_accounts': async () => {
    const { httpUrl } = await serve({ 'evm.max_state_override_accounts': '2' })
    const named = (n: number) => [{}, 'latest', Object.fromEntries(ADDRESSES.slice(0, n).map((a) => [a, { nonce: '0x1' }]))]
    expect(await errorOf(httpUrl, 'eth_call', named(2))).toBeUndefined()
    expect(await errorOf(httpUrl, 'eth_call', named(3))).toEqual({
      code: -32005,
      message: 'state overrides name 3 accounts, more than the limit of 2',
    })
    expect((await errorOf(httpUrl, 'eth_estimateGas', named(3)))?.code).toBe(-32005)
    expect((await errorOf(httpUrl, 'debug_traceCall', [{}, 'latest', { stateOverrides: named(3)[2] }]))?.code).toBe(-32005)
    expect((await errorOf(httpUrl, 'debug_traceCallMany', [[], {}, { stateOverrides: named(3)[2] }]))?.code).toBe(-32005)
    const bundle = (n: number) => ({ transactions: [], stateOverrides: named(n)[2] })
    expect((await errorOf(httpUrl, 'debug_traceCallMany', [[bundle(2), bundle(1)]]))?.code).toBe(-32005)
    const open = await serve({ 'evm.max_state_override_accounts': 'off' })
    expect(await errorOf(open.httpUrl, 'eth_call', named(3))).toBeUndefined()
  },
  'evm.max_state_override_slots': async () => {
    const { httpUrl } = await serve({ 'evm.max_state_override_slots': '5' })
    const [a = '', b = ''] = ADDRESSES
    const { [HASH]: _none, ...two } = Object.fromEntries(Object.entries(SLOTS).slice(0, 2))
    expect(await errorOf(httpUrl, 'eth_call', [{}, 'latest', { [a]: { state: SLOTS }, [b]: { stateDiff: two } }])).toBeUndefined()
    expect(await errorOf(httpUrl, 'eth_call', [{}, 'latest', { [a]: { state: SLOTS }, [b]: { stateDiff: SLOTS } }])).toEqual({
      code: -32005,
      message: 'state overrides name 6 slots, more than the limit of 5',
    })
  },
}

it('every setting with an effect has a test of it', () => {
  const tested = new Set([...Object.keys(SERVED), ...Object.keys(ELSEWHERE)])
  // core-config.test.ts tests settings of the core.
  expect(SETTING_KEYS.filter((key) => settingOf(key).inert !== true && settingOf(key).core === undefined && !tested.has(key))).toEqual([])
})

describe('what is served', () => {
  it.each(Object.entries(SERVED))('%s', async (_key, shows) => shows(), 20_000)
})
