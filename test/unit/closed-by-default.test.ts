// Closed by default, until an operator opens it: web pages, names of hosts, encodings, redirects,
// texts of other nodes.
import fs from 'node:fs'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { makeHome, writeSettingsFile } from '../../ts/cli/home.ts'
import { resolveSettings, type SettingKey } from '../../ts/config/index.ts'
import { findOrigin } from '../../ts/fork/index.ts'
import { FOREIGN_TEXT_MAX, foreignText } from '../../ts/peers/words.ts'
import { isAllowedHost } from '../../ts/server/hosts.ts'
import { startMetricsServer, startServer } from '../../ts/server/index.ts'
import { Batches } from '../../ts/upstream/batches.ts'

const opened: { stop: () => Promise<void> }[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop()
})

async function serve(flags: Partial<Record<SettingKey, string>> = {}, dev = false): Promise<{ http: string; ws: string }> {
  const given = new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0', 'evm.shutdown_timeout': '0s', ...flags }))
  const { settings } = resolveSettings({ flags: given, dev })
  const server = await startServer(settings, (text) => ({ body: { kind: 'latin1', text: `"${text}"` }, headers: {} }), {
    report: () => undefined,
  })
  opened.push(server)
  return { http: server.httpUrl ?? '', ws: server.wsUrl ?? '' }
}

/**
 * Whether a page of an origin may open a WebSocket: `open`, or the status and text of the refusal.
 */
const upgrade = (url: string, origin?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(url, origin === undefined ? {} : { origin })
    socket.on('error', reject)
    socket.on('open', () => resolve('open')).on('open', () => socket.terminate())
    socket.on('unexpected-response', (_, response) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.on('end', () => resolve(`${response.statusCode} ${text}`))
    })
  })

interface Answer {
  readonly status: number | undefined
  readonly text: string
}

const send = (url: string, options: http.RequestOptions, body = ''): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const request = http.request(url, { agent: false, ...options }, (response) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.on('end', () => resolve({ status: response.statusCode, text }))
    })
    request.on('error', reject).end(body)
  })

const REFUSED = '403 origin not allowed (evm.ws_origins)\n'

/** How the tests look for the origin of a fork. */
const FIND = { timeoutMs: 2000, verify: 'off', onUnverified: () => undefined } as const

describe('a WebSocket', () => {
  it('is for programs and for pages of its own host alone', async () => {
    const { http, ws } = await serve()
    for (const url of [ws, http.replace('http', 'ws')]) {
      const { port } = new URL(url)
      expect(await upgrade(url)).toBe('open')
      expect(await upgrade(url, `http://127.0.0.1:${port}`)).toBe('open')
      for (const origin of [
        'https://evil.example',
        'http://localhost:3000',
        'http://127.0.0.1',
        'null',
        `http://127.0.0.1:${port}.evil.example`,
      ])
        expect(await upgrade(url, origin), origin).toBe(REFUSED)
    }
  })

  it('of a development chain is for pages of this machine too', async () => {
    const { ws } = await serve({}, true)
    for (const origin of [
      'http://localhost:3000',
      'https://app.localhost',
      'http://127.0.0.1:5173',
      'http://[::1]:8080',
      'HTTP://LOCALHOST',
    ])
      expect(await upgrade(ws, origin), origin).toBe('open')
    for (const origin of [
      'https://evil.example',
      'http://localhost.evil.example',
      'http://127.0.0.1.evil.example',
      'http://localhost:1@evil',
    ])
      expect(await upgrade(ws, origin), origin).toBe(REFUSED)
  })

  it('is for every page where an operator says so', async () => {
    const { ws } = await serve({ 'evm.ws_origins': '*' })
    expect(await upgrade(ws, 'https://evil.example')).toBe('open')
  })
})

describe('the host of a request', () => {
  it('is a listed address or name, but not a longer name', () => {
    const good = [
      'localhost',
      'LOCALHOST:8545',
      '127.0.0.1',
      '127.0.0.1:1',
      '[::1]',
      '[::1]:8545',
      '::1',
      '[2001:db8::7]:80',
      'localhost:',
      '',
    ]
    for (const host of good) expect(isAllowedHost(['localhost'], host), host).toBe(true)
    const bad = [
      '[::1]evil.example',
      '[127.0.0.1',
      '[127.0.0.1]',
      '[localhost]',
      'localhost:80:evil',
      'localhost:evil',
      '127.0.0.1.evil.example',
    ]
    for (const host of [...bad, '[::1]:x', '[::1]:80.evil.example', 'a]b', 'evil.example']) {
      expect(isAllowedHost(['localhost'], host), host).toBe(false)
      expect(isAllowedHost(['*'], host), host).toBe(true)
    }
  })

  it('is looked at on the metrics port', async () => {
    const scrape = async () => ({ contentType: 'text/plain', body: new TextEncoder().encode('a_metric 1\n') })
    const open = async (allowedHosts?: string[]): Promise<string> => {
      const server = await startMetricsServer(
        { host: '127.0.0.1', port: 0, setting: 'metrics.port', ...(allowedHosts && { allowedHosts }) },
        scrape,
        () => undefined,
      )
      opened.push(server)
      return server.url
    }
    const [url, named] = [await open(), await open(['prometheus.example'])]
    expect(await send(url, { headers: { host: 'localhost:9101' } })).toEqual({ status: 200, text: 'a_metric 1\n' })
    expect(await send(url, {})).toMatchObject({ status: 200 })
    expect(await send(url, { headers: { host: 'evil.example' } })).toEqual({
      status: 403,
      text: 'invalid host specified (evm.allowed_hosts)\n',
    })
    expect(await send(named, { headers: { host: 'prometheus.example' } })).toMatchObject({ status: 200 })
  })
})

describe('a body', () => {
  it('in an encoding is 415, one byte for byte is read', async () => {
    const { http } = await serve()
    const headers = { 'content-type': 'application/json' }
    for (const encoding of ['gzip', 'deflate', 'br', 'gzip, identity', 'x']) {
      const answer = await send(http, { method: 'POST', headers: { ...headers, 'content-encoding': encoding } }, 'body')
      expect(answer, encoding).toEqual({ status: 415, text: 'invalid content encoding, only identity is supported\n' })
    }
    expect(await send(http, { method: 'POST', headers: { ...headers, 'content-encoding': 'Identity' } }, 'body')).toEqual({
      status: 200,
      text: '"body"',
    })
  })
})

/** A server that answers each request with `answer`. */
async function origin(answer: (response: http.ServerResponse, body: string) => void): Promise<string> {
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (data) => {
      body += data
    })
    request.on('end', () => answer(response, body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push({
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`
}

describe('the origin of a fork', () => {
  it('cannot send requests elsewhere', async () => {
    let reached = 0
    const elsewhere = await origin((response) => {
      reached++
      response.end('{}')
    })
    for (const status of [301, 302, 303, 307, 308]) {
      const url = await origin((response) => response.writeHead(status, { location: elsewhere }).end())
      await expect(findOrigin(url, undefined, FIND)).rejects.toThrow(`HTTP status ${status}, and redirects are not followed`)
    }
    expect(reached).toBe(0)
  })

  it('writes nothing to a terminal but bounded text', async () => {
    const message = `\u001b]0;owned\u0007\u001b[2J\r\n\u202e${'x'.repeat(100_000)}`
    const url = await origin((response, body) => {
      const error = { code: -32000, message }
      const asked = JSON.parse(body) as { id: number } | { id: number }[]
      const replies = [asked].flat().map(({ id }) => ({ jsonrpc: '2.0', id, error }))
      response.end(JSON.stringify(Array.isArray(asked) ? replies : replies[0]))
    })
    const failure = await findOrigin(url, undefined, FIND).catch((e: Error) => e)
    const said = (failure as Error).message
    expect(said).toMatch(/^cannot fork http:\/\/127\.0\.0\.1:\d+: eth_chainId: /)
    expect(/[\p{Cc}\u202e]/u.test(said)).toBe(false)
    expect(said.length).toBeLessThan(FOREIGN_TEXT_MAX + 200)
    const [error] = await Promise.allSettled([new Batches(url).ask('eth_call', [], 2000)])
    expect((error as PromiseRejectedResult).reason.said.length).toBe(FOREIGN_TEXT_MAX + 1)
  })

  it('may use other alphabets', () => {
    expect(foreignText('zwölf ☃ 東京 🜂')).toBe('zwölf ☃ 東京 🜂')
    expect(foreignText('a\u0000b\u009bc\u2066d')).toBe('a\ufffdb\ufffdc\ufffdd')
  })
})

describe('a new home', () => {
  it('is for its owner alone', () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-homes-'))
    const [home, there] = [path.join(dir, 'new'), path.join(dir, 'there')]
    const mode = (at: string): string => (fs.statSync(at).mode & 0o777).toString(8)
    const umask = process.umask(0)
    try {
      fs.mkdirSync(there, { mode: 0o750 })
      for (const at of [home, there]) {
        makeHome(at)
        writeSettingsFile(path.join(at, 'config', 'node.toml'))
      }
    } finally {
      process.umask(umask)
    }
    expect([home, path.join(home, 'config'), path.join(home, 'config', 'node.toml')].map(mode)).toEqual(['700', '700', '600'])
    expect(mode(there), 'one that was there keeps its mode').toBe('750')
    fs.rmSync(dir, { recursive: true })
  })
})
