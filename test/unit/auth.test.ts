// Access: tokens and JWTs by listener and by namespace, over HTTP and WebSocket; the listener of
// debug methods.
import { createHmac } from 'node:crypto'
import fs from 'node:fs'
import type http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { resolveSettings, type SettingKey } from '../../ts/config/index.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { jwtSecret, tokenCheck } from '../../ts/server/admission/auth.ts'
import { jwtCheck } from '../../ts/server/admission/jwt.ts'
import { AuthFileError, Readiness, type Server, startServer } from '../../ts/server/index.ts'
import { freePort } from '../free-port.mjs'
import { fakeCore, fakeStream } from './fake-core.ts'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-auth-'))
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }))
const opened: Server[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.stop()
})

const TOKEN = 'a-token-of-enough-characters'
const SECRET = '11'.repeat(32)
const file = (name: string, text: string): string => {
  const at = path.join(dir, name)
  fs.writeFileSync(at, text, { mode: 0o600 })
  return at
}
const tokens = file('tokens', `${TOKEN}\nanother-token-of-some-length\n`)
const secret = file('jwt.hex', `0x${SECRET}\n`)

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
/** A JWT as clients of the engine API make it. */
function jwt(claims: Record<string, unknown>, { alg = 'HS256', key = SECRET } = {}): string {
  const text = `${part({ alg, typ: 'JWT' })}.${part(claims)}`
  return `${text}.${createHmac('sha256', Buffer.from(key, 'hex')).update(text).digest('base64url')}`
}
const nowS = (): number => Math.floor(Date.now() / 1000)

type Flags = Partial<Record<SettingKey, string>>

async function serve(flags: Flags): Promise<Server> {
  const { settings } = resolveSettings({ flags: new Map(Object.entries({ 'evm.http_port': '0', 'evm.ws_port': '0', ...flags })) })
  const core = fakeCore({ blockNumber: '"0x1b"' }, () => fakeStream(['"a trace"']))
  const context = rpcContext(core, settings)
  const make = (namespaces: readonly string[]) => makeDispatch({ ...context, namespaces }, batchLimits(settings), () => undefined)
  const apart = settings['evm.debug_port'] !== 0
  const readiness = new Readiness()
  readiness.opened([])
  const hooks = { report: () => undefined, readiness, debug: make(['debug']) }
  const server = await startServer(settings, make(apart ? ['eth'] : ['eth', 'debug']), hooks)
  opened.push(server)
  return server
}

const request = (method: string, id = 1) => ({ jsonrpc: '2.0', id, method, params: method === 'eth_blockNumber' ? [] : ['0x1'] })

async function post(
  url: string | undefined,
  body: unknown,
  token?: string,
): Promise<[status: number, body: unknown, challenge: string | null]> {
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (token !== undefined) headers.authorization = `Bearer ${token}`
  const response = await fetch(url ?? '', { method: 'POST', headers, body: JSON.stringify(body) })
  return [response.status, await response.json(), response.headers.get('www-authenticate')]
}

/** How a WebSocket comes about: `open`, or the status and body of the refusal. */
function upgrade(url: string | undefined, token?: string): Promise<WebSocket | [number | undefined, string]> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return new Promise((resolve) => {
    const socket = new WebSocket(url ?? '', { headers })
    socket.on('open', () => resolve(socket))
    socket.on('error', () => undefined)
    socket.on('unexpected-response', (_, response: http.IncomingMessage) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.on('end', () => resolve([response.statusCode, text]))
    })
  })
}

const over = (socket: WebSocket, body: unknown): Promise<unknown> =>
  new Promise((resolve) => {
    socket.once('message', (data) => resolve(JSON.parse(data.toString())))
    socket.send(JSON.stringify(body))
  })

const ANSWER = { jsonrpc: '2.0', id: 1, result: '0x1b' }
const refusal = (id: number | null, why: string) => ({ jsonrpc: '2.0', id, error: { code: -32000, message: `unauthorized: ${why}` } })
const MISSING = 'missing token: send the header Authorization: Bearer TOKEN'
const CHALLENGE = 'Bearer realm="hearth"'

describe('a listener with tokens', () => {
  it('answers with a token, else 401 with a JSON-RPC body', async () => {
    const { httpUrl } = await serve({ 'evm.auth_token_file': tokens })
    expect(await post(httpUrl, request('eth_blockNumber'), TOKEN)).toEqual([200, ANSWER, null])
    expect(await post(httpUrl, request('eth_blockNumber'), 'another-token-of-some-length')).toEqual([200, ANSWER, null])
    expect(await post(httpUrl, request('eth_blockNumber'))).toEqual([401, refusal(null, MISSING), CHALLENGE])
    expect(await post(httpUrl, request('eth_blockNumber'), `${TOKEN}x`)).toEqual([401, refusal(null, 'invalid token'), CHALLENGE])
    expect(await post(httpUrl, [request('eth_blockNumber')], 'x')).toEqual([401, refusal(null, 'invalid token'), CHALLENGE])
  })

  it('answers probes without one', async () => {
    const { httpUrl } = await serve({ 'evm.auth_token_file': tokens })
    for (const probe of ['health', 'ready']) expect((await fetch(`${httpUrl}/${probe}`)).status, probe).toBe(200)
  })

  it('asks on WebSocket when a client connects, on both ports', async () => {
    const { httpUrl, wsUrl } = await serve({ 'evm.auth_token_file': tokens })
    for (const url of [wsUrl, httpUrl?.replace('http', 'ws')]) {
      expect(await upgrade(url)).toEqual([401, JSON.stringify(refusal(null, MISSING))])
      expect(await upgrade(url, 'wrong')).toEqual([401, JSON.stringify(refusal(null, 'invalid token'))])
      const socket = (await upgrade(url, TOKEN)) as WebSocket
      expect(await over(socket, request('eth_blockNumber'))).toEqual(ANSWER)
      socket.terminate()
    }
  })

  it('is only one of those that evm.auth_listeners names', async () => {
    const { httpUrl, wsUrl } = await serve({ 'evm.auth_token_file': tokens, 'evm.auth_listeners': 'ws' })
    expect((await post(httpUrl, request('eth_blockNumber')))[0]).toBe(200)
    expect(await upgrade(wsUrl)).toEqual([401, expect.any(String)])
  })
})

describe('namespaces that need a token', () => {
  it('are refused by method, the others are served', async () => {
    const { httpUrl } = await serve({ 'evm.auth_token_file': tokens, 'evm.auth_namespaces': 'debug' })
    expect(await post(httpUrl, request('eth_blockNumber'))).toEqual([200, ANSWER, null])
    expect(await post(httpUrl, request('debug_traceBlockByNumber'))).toEqual([401, refusal(1, MISSING), CHALLENGE])
    expect(await post(httpUrl, request('debug_traceBlockByNumber'), TOKEN)).toEqual([
      200,
      { jsonrpc: '2.0', id: 1, result: 'a trace' },
      null,
    ])
    expect(await post(httpUrl, [request('eth_blockNumber'), request('debug_traceBlockByNumber', 2)], 'wrong')).toEqual([
      200,
      [ANSWER, refusal(2, 'invalid token')],
      null,
    ])
  })

  it('over WebSocket too', async () => {
    const { wsUrl } = await serve({ 'evm.auth_token_file': tokens, 'evm.auth_namespaces': 'debug' })
    const stranger = (await upgrade(wsUrl)) as WebSocket
    expect(await over(stranger, request('eth_blockNumber'))).toEqual(ANSWER)
    expect(await over(stranger, request('debug_traceBlockByNumber'))).toEqual(refusal(1, MISSING))
    stranger.terminate()
    const known = (await upgrade(wsUrl, TOKEN)) as WebSocket
    expect(await over(known, request('debug_traceBlockByNumber'))).toMatchObject({ result: 'a trace' })
    known.terminate()
  })
})

describe('JWTs', () => {
  it('are let in where they are signed and fresh', async () => {
    const { httpUrl } = await serve({ 'evm.auth_jwt_file': secret, 'evm.auth_token_file': tokens })
    expect(await post(httpUrl, request('eth_blockNumber'), jwt({ iat: nowS() }))).toEqual([200, ANSWER, null])
    expect((await post(httpUrl, request('eth_blockNumber'), TOKEN))[0], 'tokens beside them').toBe(200)
    expect(await post(httpUrl, request('eth_blockNumber'), jwt({ iat: nowS() - 120 }))).toEqual([
      401,
      refusal(null, 'stale token'),
      CHALLENGE,
    ])
  })

  it('are verified over WebSocket, as a whole and by namespace', async () => {
    const { wsUrl } = await serve({ 'evm.auth_jwt_file': secret })
    expect(await upgrade(wsUrl, jwt({ iat: nowS() + 120 }))).toEqual([401, JSON.stringify(refusal(null, 'future token'))])
    const socket = (await upgrade(wsUrl, jwt({ iat: nowS() }))) as WebSocket
    expect(await over(socket, request('eth_blockNumber'))).toEqual(ANSWER)
    socket.terminate()
    const { wsUrl: byNamespace } = await serve({ 'evm.auth_jwt_file': secret, 'evm.auth_namespaces': 'debug' })
    const stale = (await upgrade(byNamespace, jwt({ iat: 0 }))) as WebSocket
    expect(await over(stale, request('debug_traceBlockByNumber'))).toEqual(refusal(1, 'stale token'))
    stale.terminate()
  })

  it('have their own words for each fault', async () => {
    const now = 1_700_000_000
    const why = jwtCheck(Buffer.from(SECRET, 'hex'), () => now * 1000)
    expect(await why(jwt({ iat: now }))).toBeUndefined()
    expect(await why(jwt({ iat: now - 60, exp: now + 1 }))).toBeUndefined()
    expect(await why(jwt({ iat: now + 60 }))).toBeUndefined()
    expect(await why(jwt({ iat: now - 61 }))).toBe('stale token')
    expect(await why(jwt({ iat: now + 61 }))).toBe('future token')
    expect(await why(jwt({ iat: now, exp: now }))).toBe('token is expired')
    expect(await why(jwt({ iat: now, nbf: now }))).toBeUndefined()
    expect(await why(jwt({ iat: now, nbf: now + 1 }))).toBe('token is not valid yet')
    expect(await why(jwt({ iat: now, nbf: String(now) }))).toBe('token is not valid yet')
    expect(await why(jwt({ exp: now + 10 }))).toBe('missing issued-at')
    expect(await why(jwt({ iat: String(now) }))).toBe('missing issued-at')
    expect(await why(jwt({ iat: now }, { key: '22'.repeat(32) }))).toBe('invalid token: signature is invalid')
    for (const alg of ['none', 'HS384', 'HS512', 'RS256'])
      expect(await why(jwt({ iat: now }, { alg })), alg).toBe('invalid token: only HS256 is taken')
    const [head, body] = jwt({ iat: now }).split('.')
    for (const bad of ['', 'a.b.c', `${head}.${body}.`, `${head}.${body}`, `${head}.${body}.x.y`, `${head}..x`]) {
      expect(await why(bad), bad).toMatch(/^invalid token/)
    }
  })

  it('are verified once, and looked at in time at every use', async () => {
    let now = 1_700_000_000
    const why = jwtCheck(Buffer.from(SECRET, 'hex'), () => now * 1000)
    const [token, ending, later] = [jwt({ iat: now }), jwt({ iat: now, exp: now + 5 }), jwt({ iat: now, nbf: now - 1 })]
    for (const one of [token, ending, later]) {
      expect(why(one)).toBeInstanceOf(Promise)
      await expect.poll(() => why(one)).toBeUndefined()
    }
    now += 5
    expect([why(token), why(ending), why(later)]).toEqual([undefined, 'token is expired', undefined])
    now += 56
    expect(why(token)).toBe('stale token')
    now -= 63
    expect(why(later)).toBe('token is not valid yet')
    now = 1_700_000_000
    expect(why(token)).toBeUndefined()
    const wrong = jwt({ iat: now }, { key: '22'.repeat(32) })
    for (const time of [1, 2]) expect(await why(wrong), String(time)).toBe('invalid token: signature is invalid')
    expect(why(wrong)).toBeInstanceOf(Promise)
  })
})

describe('files of the settings', () => {
  it('that cannot be used are refused with the setting', async () => {
    await expect(serve({ 'evm.auth_token_file': path.join(dir, 'none') })).rejects.toThrow(/^evm\.auth_token_file: cannot read /)
    await expect(serve({ 'evm.auth_jwt_file': tokens })).rejects.toThrow(AuthFileError)
    const [loose, shared] = [file('loose', `${TOKEN}\n`), file('shared', `${SECRET}\n`)]
    fs.chmodSync(loose, 0o644)
    fs.chmodSync(shared, 0o640)
    await expect(serve({ 'evm.auth_token_file': loose })).rejects.toThrow(
      `evm.auth_token_file: ${loose} has mode 644, so other users may read or change it: run \`chmod 600 ${loose}\`, or \`chmod 640\` where its group may read it`,
    )
    // A group may be meant to read it, but not to change it.
    expect((await serve({ 'evm.auth_jwt_file': shared })).httpUrl).toBeDefined()
    fs.chmodSync(shared, 0o660)
    await expect(serve({ 'evm.auth_jwt_file': shared })).rejects.toThrow('has mode 660')
    expect(() => tokenCheck('\n\n', 'f')).toThrow('evm.auth_token_file: f must hold one token a line')
    expect(() => tokenCheck('short', 'f')).toThrow('at least 16 characters')
    expect(() => tokenCheck('with a space in the token', 'f')).toThrow('no spaces')
    expect(() => jwtSecret('0x11', 'f')).toThrow('evm.auth_jwt_file: f must hold 32 bytes in hex')
    expect(jwtSecret(`  ${SECRET}\n`, 'f').toString('hex')).toBe(SECRET)
  })
})

describe('the listener of debug methods', () => {
  it('has them alone, and the others do not have them', async () => {
    const port = await freePort()
    const { httpUrl, debugUrl } = await serve({ 'evm.debug_port': String(port) })
    expect(debugUrl).toBe(`http://127.0.0.1:${port}`)
    expect((await post(debugUrl, request('debug_traceBlockByNumber')))[1]).toMatchObject({ result: 'a trace' })
    expect((await post(httpUrl, request('debug_traceBlockByNumber')))[1]).toMatchObject({ error: { code: -32601 } })
    expect((await post(httpUrl, request('eth_blockNumber')))[1]).toEqual(ANSWER)
    expect((await post(debugUrl, request('eth_blockNumber')))[1]).toMatchObject({ error: { code: -32601 } })
    const socket = (await upgrade(debugUrl?.replace('http', 'ws'))) as WebSocket
    expect(await over(socket, request('debug_traceBlockByNumber'))).toMatchObject({ result: 'a trace' })
    socket.terminate()
  })

  it('may need a token where the others need none', async () => {
    const port = await freePort()
    const { httpUrl, debugUrl } = await serve({
      'evm.debug_port': String(port),
      'evm.auth_token_file': tokens,
      'evm.auth_listeners': 'debug',
    })
    expect((await post(httpUrl, request('eth_blockNumber')))[0]).toBe(200)
    expect((await post(debugUrl, request('debug_traceBlockByNumber')))[0]).toBe(401)
    expect((await post(debugUrl, request('debug_traceBlockByNumber'), TOKEN))[0]).toBe(200)
  })

  it('is shared with port 0, and refused without the namespace', async () => {
    expect((await serve({})).debugUrl).toBeUndefined()
    await expect(serve({ 'evm.debug_port': '1', 'evm.namespaces': 'eth' })).rejects.toThrow(
      /evm\.debug_port.*evm\.namespaces has no debug/s,
    )
  })
})
