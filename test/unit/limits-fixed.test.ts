// Bounds of the listeners that are no setting: reached, and what happens then.
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { resolveSettings, type SettingKey } from '../../ts/config/index.ts'
import { batchLimits, rpcContext } from '../../ts/node/node-config.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { ClientAddresses } from '../../ts/server/admission/address.ts'
import { authentication, type Refusal } from '../../ts/server/admission/auth.ts'
import { startMetricsServer, startServer } from '../../ts/server/index.ts'
import { METRICS_CONNECTIONS_MAX, REFUSED_BODY_BYTES_MAX } from '../../ts/server/limits.ts'
import { fakeCore } from './fake-core.ts'

const opened: { stop(): Promise<void> }[] = []
const sockets: net.Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of opened.splice(0)) await server.stop()
})

const settingsOf = (flags: Partial<Record<SettingKey, string>>) => resolveSettings({ flags: new Map(Object.entries(flags)) }).settings

async function connect(url: string): Promise<net.Socket> {
  const socket = net.connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  sockets.push(socket)
  await new Promise((resolve) => socket.once('connect', resolve))
  return socket
}

describe('the scrape page', () => {
  it('has a bounded number; one that leaves makes room', async () => {
    const place = { host: '127.0.0.1', port: 0, setting: 'metrics.port' }
    const page = { body: 'up 1\n', contentType: 'text/plain' }
    const server = await startMetricsServer(
      place,
      async () => page as never,
      () => undefined,
    )
    opened.push(server)
    const held = await Promise.all(Array.from({ length: METRICS_CONNECTIONS_MAX }, () => connect(server.url)))
    const isClosed = async (): Promise<boolean> => {
      const socket = await connect(server.url)
      const closed = new Promise<boolean>((resolve) => socket.once('close', () => resolve(true)))
      socket.resume()
      return await Promise.race([closed, sleep(500, false)])
    }
    await expect.poll(isClosed).toBe(true)
    held[0]?.destroy()
    await expect.poll(isClosed).toBe(false)
  })
})

describe('a body that is refused', () => {
  it('is discarded up to a bound, so that the refusal arrives', async () => {
    const settings = settingsOf({ 'evm.http_port': '0', 'evm.ws_port': '0', 'evm.max_request_body_bytes': '1 KiB' })
    const dispatch = makeDispatch(rpcContext(fakeCore({}), settings), batchLimits(settings), () => undefined)
    const server = await startServer(settings, dispatch, { report: () => undefined })
    opened.push(server)
    const socket = await connect(server.httpUrl ?? '')
    let got = ''
    socket.on('data', (data) => {
      got += data
    })
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    const length = 4 * REFUSED_BODY_BYTES_MAX
    socket.write(`POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`)
    const chunk = Buffer.alloc(1024 * 1024, ' ')
    let sent = 0
    while (!socket.destroyed && sent < length) {
      sent += chunk.length
      if (!socket.write(chunk)) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
    }
    await closed
    expect(got).toMatch(/^HTTP\/1\.1 413 /)
    expect(got).toContain(`content length too large (${length}>1024)`)
    // What both ends hold on the way counts as sent.
    expect(sent).toBeLessThan(2 * REFUSED_BODY_BYTES_MAX)
  })
})

describe('who a client is', () => {
  it('is looked for behind so many proxies and no more', () => {
    const addresses = new ClientAddresses(['10.0.0.0/8'])
    const of = (proxies: number): string =>
      addresses.of({
        headers: { 'x-forwarded-for': ['198.51.100.7', ...Array.from({ length: proxies }, (_, i) => `10.0.1.${i}`)].join(', ') },
        socket: { remoteAddress: '10.0.0.1' } as never,
      })
    expect([of(1), of(31), of(32)]).toEqual(['198.51.100.7', '198.51.100.7', '10.0.1.0'])
  })

  it('is known by a short token, from a file of few', () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-tokens-'))
    const file = path.join(dir, 'tokens')
    const tokens = (count: number): string[] => Array.from({ length: count }, (_, i) => `${'t'.repeat(16)}${i}`)
    const refusal = (lines: readonly string[], token: string): Refusal => {
      fs.writeFileSync(file, lines.join('\n'), { mode: 0o600 })
      return authentication(settingsOf({ 'evm.auth_token_file': file }))('http')?.refusal(`Bearer ${token}`)
    }
    expect(refusal(tokens(1000), 'tttttttttttttttt999')).toBeUndefined()
    expect(() => refusal(tokens(1001), '')).toThrow(/one token a line, 1 to 1000 of them/)
    const long = 'x'.repeat(8192)
    expect([refusal([long.slice(7)], long.slice(7)), refusal([long], long)]).toEqual([
      undefined,
      'missing token: send the header Authorization: Bearer TOKEN',
    ])
    fs.rmSync(dir, { recursive: true })
  })
})
