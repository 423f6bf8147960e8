// eth_sendRawTransactionSync: the receipt once the block exists, or an error with the hash if it
// does not come.
import http from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { WebSocket } from 'ws'
import { resolveSettings } from '../../ts/config/index.ts'
import type { Core } from '../../ts/core/port.ts'
import { readBytes } from '../../ts/core/results.ts'
import { makeDispatch } from '../../ts/rpc/dispatch.ts'
import { syncTimeout } from '../../ts/rpc/errors.ts'
import { SubscriptionHub } from '../../ts/rpc/follow/index.ts'
import { ENDPOINTS, NO_METER, type RequestMeter } from '../../ts/rpc/meter.ts'
import { sendAndWait } from '../../ts/rpc/receipt-wait.ts'
import { startServer } from '../../ts/server/index.ts'
import { until } from '../e2e/waiting.ts'
import { PLAIN_RULES } from './fake-core.ts'
import { ModelChain, seeded } from './follow-model.ts'

const HASH = `0x${'ab'.repeat(32)}`

/** A core whose transaction is mined once `mined` says so. */
function core(model: ModelChain, mined: () => boolean): Core {
  const request = async (op: string): Promise<Uint8Array> => {
    if (op === 'sendRawTransaction') return Buffer.from(`"${HASH}"`)
    expect(op).toBe('getTransactionReceipt')
    return Buffer.from(mined() ? '{"status":"0x1"}' : 'null')
  }
  return { ...model.core(), request } as unknown as Core
}

/** Sends the transaction. */
const sent = (core: Core) => (): Promise<Uint8Array> => readBytes(core, 'sendRawTransaction', { transaction: '0x01' })

const given = (core: Core) => ({ core, follow: new SubscriptionHub(core, { filterIdleMs: 1e9, heads: 1, logs: 1 }, () => undefined) })

it('returns the receipt at once, or with its block', async () => {
  const model = new ModelChain(seeded(1))
  const here = core(model, () => true)
  expect(Buffer.from(await sendAndWait(given(here), sent(here), undefined)).toString()).toBe('{"status":"0x1"}')
  let mined = false
  const later = core(model, () => mined)
  const waiting = sendAndWait(given(later), sent(later), '0xea60')
  await new Promise((resolve) => setTimeout(resolve, 20))
  // A block without it, then the block with it.
  model.add()
  await new Promise((resolve) => setTimeout(resolve, 20))
  mined = true
  model.add()
  // A wait until the end of the minute ends with a refusal.
  expect(Buffer.from(await waiting).toString()).toBe('{"status":"0x1"}')
})

it('reports a pending transaction by hash after the timeout', async () => {
  const model = new ModelChain(seeded(1))
  const never = core(model, () => false)
  const refused = await sendAndWait(given(never), sent(never), '0x32').catch((e: unknown) => e)
  expect(refused).toMatchObject({
    code: 4,
    data: HASH,
    message: "The transaction was added to the transaction pool but wasn't processed in 50ms",
  })
})

it('ends when its client leaves, also before it is sent', async () => {
  const model = new ModelChain(seeded(1))
  const never = core(model, () => false)
  const cancelled = { name: 'CoreError', kind: 'cancelled', message: 'the client has left' }
  let leave = (): void => undefined
  const onDisconnect = (callback: () => void): void => {
    leave = callback
  }
  let isOver = false
  // Without the end it takes a minute.
  const waiting = sendAndWait({ ...given(never), onDisconnect }, sent(never), '0xea60').finally(() => {
    isOver = true
  })
  waiting.catch(() => undefined)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(isOver).toBe(false)
  leave()
  await expect(waiting).rejects.toMatchObject(cancelled)
  const left = { ...given(never), onDisconnect: (callback: () => void) => callback() }
  await expect(sendAndWait(left, sent(never), '0xea60')).rejects.toMatchObject(cancelled)
})

it.each(['http', 'ws'] as const)('ends with the connection of its client: %s', async (protocol) => {
  const never = core(new ModelChain(seeded(1)), () => false)
  const flags = new Map([
    ['evm.http_port', '0'],
    ['evm.ws_port', '0'],
  ])
  const { settings } = resolveSettings({ flags })
  const began: string[] = []
  const ended: (string | undefined)[] = []
  const meter: RequestMeter = {
    ...NO_METER,
    request: (endpoint) => ended.push(ENDPOINTS[endpoint]),
  }
  const request: Core['request'] = (op, args) => {
    began.push(op)
    return never.request(op, args)
  }
  const context = { ...PLAIN_RULES, core: { ...never, request }, namespaces: ['eth'], clientVersion: 'test' }
  const limits = { requests: 1, responseBytes: 1 << 20, concurrency: 1 }
  const reported: unknown[] = []
  const report = (e: unknown): void => void reported.push(e)
  const server = await startServer(settings, makeDispatch(context, limits, report, meter), { report })
  onTestFinished(() => server.stop())
  const method = 'eth_sendRawTransactionSync'
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: ['0x01', '0xea60'] })
  const sends = { http: () => httpClient(server.httpUrl as string, body), ws: () => wsClient(server.wsUrl as string, body) }
  const close = sends[protocol]()
  await until('the transaction is sent, and its receipt read', () => began.includes('getTransactionReceipt'))
  expect(ended).toEqual([])
  close()
  // Without the end of the connection it takes a minute.
  await until('the request is over', () => ended.length === 1)
  expect([ended, reported]).toEqual([[method], []])
})

/** Posts a body; what is returned closes the connection. */
function httpClient(url: string, body: string): () => void {
  const request = http.request(url, { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } })
  request.on('error', () => undefined)
  request.end(body)
  return () => request.destroy()
}

/** Sends a message over WebSocket; what is returned closes the connection. */
function wsClient(url: string, body: string): () => void {
  const socket = new WebSocket(url)
  socket.on('open', () => socket.send(body))
  socket.on('error', () => undefined)
  return () => socket.terminate()
}

it('names the time of the wait as Go prints it', () => {
  const text = (ms: number): string | undefined => syncTimeout(ms, HASH).message.split(' ').at(-1)
  expect([1, 999, 1500, 20_000, 60_000].map(text)).toEqual(['1ms', '999ms', '1.5s', '20s', '1m0s'])
})

it('passes on why a transaction is not taken', async () => {
  const model = new ModelChain(seeded(1))
  const request = async (): Promise<never> => {
    throw new Error('nonce too low')
  }
  const core = { ...model.core(), request } as unknown as Core
  await expect(sendAndWait(given(core), sent(core), undefined)).rejects.toThrow('nonce too low')
})
