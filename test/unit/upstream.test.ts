// Requests to an upstream: gathered into batches, repeated while that may help, bounded.
import { afterEach, describe, expect, it } from 'vitest'
import { Batches, QUEUE_REQUESTS_MAX } from '../../ts/upstream/batches.ts'
import { UpstreamError } from '../../ts/upstream/error.ts'
import { until } from '../e2e/waiting.ts'
import { type Answer, type Asked, answered, type JsonServer, jsonServer, type Reply } from './json-server.ts'

const servers: JsonServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop()
})

async function serving(serve: (requests: readonly Asked[], isBatch: boolean) => Reply): Promise<JsonServer> {
  const server = await jsonServer(serve)
  servers.push(server)
  return server
}

/** A server that answers each request by itself. */
const answering = (answer: (request: Asked) => Answer): Promise<JsonServer> =>
  serving((requests, isBatch) => answered(requests, isBatch, answer))

const methods = ({ messages }: JsonServer): string[][] => messages.map((message) => message.map(({ method }) => method))

describe('a batch', () => {
  it('has the requests of one turn, each with its own result', async () => {
    const server = await answering(({ method, params }) => ({ result: [method, ...params] }))
    const batches = new Batches(server.url)
    const results = await Promise.all([batches.ask('a', [1], 5000), batches.ask('b', [2], 5000)])
    expect(results).toEqual([
      ['a', 1],
      ['b', 2],
    ])
    expect(methods(server)).toEqual([['a', 'b']])
  })

  it('has at most 100 requests', async () => {
    const server = await answering(({ params }) => ({ result: params[0] }))
    const batches = new Batches(server.url)
    const results = await Promise.all(Array.from({ length: 250 }, (_, i) => batches.ask('a', [i], 5000)))
    expect(results).toEqual(Array.from({ length: 250 }, (_, i) => i))
    expect(server.messages.map((message) => message.length).sort((a, b) => a - b)).toEqual([50, 100, 100])
  })

  it('is split where the upstream refuses batches', async () => {
    const server = await serving((requests, isBatch) =>
      isBatch
        ? { body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batches are off' } }) }
        : answered(requests, false, ({ method }) => ({ result: method })),
    )
    const batches = new Batches(server.url)
    expect(await Promise.all([batches.ask('a', [], 5000), batches.ask('b', [], 5000)])).toEqual(['a', 'b'])
    await batches.ask('c', [], 5000)
    const [first, ...rest] = server.messages.map((message) => message.length)
    expect([first, new Set(rest)]).toEqual([2, new Set([1])])
  })

  const limit = { body: JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32005, message: 'too fast' } }) }

  it.each<[string, Reply]>([
    ['-32005', limit],
    ['HTTP 429', { status: 429 }],
    ['HTTP 429 with -32005', { status: 429, ...limit }],
  ])('stays a batch where its rate limit passes: %s', async (_, reply) => {
    let attempts = 0
    const server = await serving((requests, isBatch) =>
      ++attempts <= 2 ? reply : answered(requests, isBatch, ({ method }) => ({ result: method })),
    )
    const batches = new Batches(server.url)
    expect(await Promise.all([batches.ask('a', [], 5000), batches.ask('b', [], 5000)])).toEqual(['a', 'b'])
    expect(await Promise.all([batches.ask('c', [], 5000), batches.ask('d', [], 5000)])).toEqual(['c', 'd'])
    const [ab, cd] = [
      ['a', 'b'],
      ['c', 'd'],
    ]
    expect(methods(server)).toEqual([ab, ab, ab, cd])
  })

  it.each<[string, Reply]>([
    ['-32005', limit],
    ['HTTP 429', { status: 429 }],
  ])('is split after five retries under a rate limit: %s', { timeout: 20_000 }, async (_, reply) => {
    const server = await serving((requests, isBatch) => (isBatch ? reply : answered(requests, false, ({ method }) => ({ result: method }))))
    const batches = new Batches(server.url)
    const begun = performance.now()
    expect(await Promise.all([batches.ask('a', [], 15_000), batches.ask('b', [], 15_000)])).toEqual(['a', 'b'])
    // Waits of 100, 200, 400, 800 and 1,600 ms, and one more before the first single request.
    expect(performance.now() - begun).toBeGreaterThan(3000)
    expect(server.messages.map((message) => message.length)).toEqual([2, 2, 2, 2, 2, 2, 1, 1])
  })

  it('is sent again for the requests that an error left open', async () => {
    let isBusy = true
    const server = await answering(({ method }) => {
      if (method !== 'b' || !isBusy) return { result: method }
      isBusy = false
      return { error: { code: -32005, message: 'too fast' } }
    })
    const batches = new Batches(server.url)
    expect(await Promise.all([batches.ask('a', [], 5000), batches.ask('b', [], 5000)])).toEqual(['a', 'b'])
    expect(methods(server)).toEqual([['a', 'b'], ['b']])
  })

  it.each<[string, Reply]>([
    ['status 429', { status: 429 }],
    ['status 503', { status: 503 }],
    ['a connection that ends', { destroy: true }],
    ['an answer that is no JSON', { body: '<html>' }],
  ])('is sent again after %s', async (_, failure) => {
    let attempts = 0
    const server = await serving((requests, isBatch) =>
      ++attempts === 1 ? failure : answered(requests, isBatch, () => ({ result: attempts })),
    )
    expect(await new Batches(server.url).ask('a', [], 5000)).toBe(2)
  })

  it('is not sent again after an error that stays', async () => {
    const server = await answering(() => ({ error: { code: 3, message: 'execution \u001b[31mreverted', data: '0x08' } }))
    const failure = await new Batches(server.url).ask('eth_call', [], 5000).catch((e: unknown) => e)
    expect(failure).toBeInstanceOf(UpstreamError)
    const { code, said, data } = failure as UpstreamError
    expect([code, said, data]).toEqual([3, 'execution \ufffd[31mreverted', '0x08'])
    expect(server.messages.length).toBe(1)
  })

  it('follows no redirect', async () => {
    const target = await answering(() => ({ result: 1 }))
    const server = await serving(() => ({ status: 307, headers: { location: target.url } }))
    await expect(new Batches(server.url).ask('a', [], 5000)).rejects.toThrow('redirects are not followed')
    expect(target.messages.length).toBe(0)
  })

  it('ends at its time limit, which names the upstream', async () => {
    const server = await serving(() => ({ hang: true }))
    await expect(new Batches(server.url).ask('a', [], 60)).rejects.toThrow(`a: no answer from ${server.url} in 60 ms`)
  })

  it('ends when all requests are ended, and none follows', async () => {
    const server = await serving(() => ({ hang: true }))
    const batches = new Batches(server.url)
    const waiting = batches.ask('a', [], 60_000)
    await until('the request is there', () => server.messages.length === 1)
    batches.close()
    await expect(waiting).rejects.toThrow(`a: requests to ${server.url} have ended`)
    await expect(batches.ask('b', [], 60_000)).rejects.toThrow(`b: requests to ${server.url} have ended`)
    expect(server.messages.length).toBe(1)
  })

  it('checks after a failure that the upstream is the same one', async () => {
    let attempts = 0
    const server = await serving((requests, isBatch) =>
      ++attempts === 1 ? { status: 503 } : answered(requests, isBatch, ({ method }) => ({ result: method === 'guard' ? 'other' : 1 })),
    )
    const check = (result: unknown): void => {
      if (result !== 'same') throw new Error(`another chain: ${String(result)}`)
    }
    const batches = new Batches(server.url, { guard: { method: 'guard', params: [], check } })
    await expect(batches.ask('a', [], 5000)).rejects.toThrow('another chain: other')
    expect(methods(server)).toEqual([['a'], ['a', 'guard']])
  })

  it('has at most 100 requests with the check among them', async () => {
    let attempts = 0
    const server = await serving((requests, isBatch) =>
      ++attempts === 1 ? { status: 503 } : answered(requests, isBatch, () => ({ result: 1 })),
    )
    const batches = new Batches(server.url, { guard: { method: 'guard', params: [], check: () => undefined } })
    await Promise.all(Array.from({ length: 100 }, () => batches.ask('a', [], 5000)))
    expect(Math.max(...server.messages.map((message) => message.length))).toBe(100)
    expect(methods(server).flat()).toContain('guard')
  })

  it('has the check apart where batches are refused', async () => {
    let attempts = 0
    const server = await serving((requests, isBatch) => {
      if (isBatch) return { body: JSON.stringify({ error: { code: -32600, message: 'batches are off' } }) }
      return ++attempts === 1 ? { status: 503 } : answered(requests, false, ({ method }) => ({ result: method }))
    })
    const batches = new Batches(server.url, { guard: { method: 'guard', params: [], check: () => undefined } })
    expect(await Promise.all([batches.ask('a', [], 5000), batches.ask('b', [], 5000)])).toEqual(['a', 'b'])
    const [first, second, ...rest] = methods(server)
    expect([first, second]).toEqual([['a', 'b'], ['guard']])
    expect([new Set(rest.map((message) => message.length)), new Set(rest.flat())]).toEqual([new Set([1]), new Set(['a', 'b', 'guard'])])
  })

  it('refuses more requests than may wait', async () => {
    const server = await serving(() => ({ hang: true }))
    const batches = new Batches(server.url)
    const waiting = Array.from({ length: QUEUE_REQUESTS_MAX }, () => batches.ask('a', [], 200).catch(() => 'late'))
    await expect(batches.ask('b', [], 200)).rejects.toThrow(`b: ${QUEUE_REQUESTS_MAX} requests wait for ${server.url} already`)
    expect(new Set(await Promise.all(waiting))).toEqual(new Set(['late']))
  })
})
