// Reads of an upstream: the bytes that it sent, repeated while that may help, bounded.
import { afterEach, describe, expect, it } from 'vitest'
import { UpstreamBusy, UpstreamClient } from '../../ts/upstream/client.ts'
import { BadEnvelope, resultBytes } from '../../ts/upstream/envelope.ts'
import { UpstreamError } from '../../ts/upstream/error.ts'
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

const answering = (answer: (request: Asked) => Answer): Promise<JsonServer> =>
  serving((requests, isBatch) => answered(requests, isBatch, answer))

const clientOf = (url: string, more: object = {}): UpstreamClient =>
  new UpstreamClient({ url, timeoutMs: 5000, atOnce: 10, answerBytesMax: 1_000_000, ...more })

const bytes = (text: string): Buffer => Buffer.from(text)

describe('the result of a response', () => {
  it.each([
    ['{"jsonrpc":"2.0","id":1,"result":{"gas":9223372036854775807}}', '{"gas":9223372036854775807}'],
    ['{"result": [1, "]},", {"a":"\\\\"}] , "id":1}\n', '[1, "]},", {"a":"\\\\"}]'],
    ['{"id":1,"error":null,"result":null}', 'null'],
    [' {"id":"a\\"result\\":","result":"\\"}" }', '"\\"}"'],
  ])('is as the upstream sent it', (text, result) => {
    expect(resultBytes('m', bytes(text)).toString()).toBe(result)
  })

  it('is thrown where it is an error', () => {
    const text = '{"id":1,"error":{"code":3,"message":"execution reverted","data":"0x08"}}'
    expect(() => resultBytes('eth_call', bytes(text))).toThrow(new UpstreamError('eth_call', 3, 'execution reverted', '0x08'))
  })

  it.each(['', '[]', '<html>', '{"id":1}', '{"result":1', '7', 'null'])('is refused in %j', (text) => {
    expect(() => resultBytes('m', bytes(text))).toThrow(BadEnvelope)
  })
})

describe('a read', () => {
  it('keeps integers beyond 53 bits', async () => {
    const server = await serving(() => ({ body: '{"jsonrpc":"2.0","id":1,"result":18446744073709551615}' }))
    expect((await clientOf(server.url).read('a', [])).toString()).toBe('18446744073709551615')
  })

  it.each<[string, Reply]>([
    ['status 429', { status: 429 }],
    ['-32005', { body: '{"id":1,"error":{"code":-32005,"message":"limit"}}' }],
    ['a lost connection', { destroy: true }],
  ])('is sent again after %s', async (_, failure) => {
    let attempts = 0
    const server = await serving((requests, isBatch) =>
      ++attempts === 1 ? failure : answered(requests, isBatch, () => ({ result: attempts })),
    )
    expect(await clientOf(server.url).call('a', [])).toBe(2)
  })

  it('is not sent again after an error that stays', async () => {
    const server = await answering(() => ({ error: { code: -32000, message: 'missing trie node\u0007' } }))
    await expect(clientOf(server.url).read('a', [])).rejects.toThrow('a: missing trie node\ufffd')
    expect(server.messages.length).toBe(1)
  })

  it('follows no redirect, and is bounded in size and time', async () => {
    const moved = await serving(() => ({ status: 302, headers: { location: 'http://127.0.0.1:1/' } }))
    await expect(clientOf(moved.url).read('a', [])).rejects.toThrow('redirects are not followed')
    const large = await answering(() => ({ result: 'x'.repeat(2000) }))
    await expect(clientOf(large.url, { answerBytesMax: 1000 }).read('a', [])).rejects.toThrow('an answer of more than 1000 bytes')
    const silent = await serving(() => ({ hang: true }))
    await expect(clientOf(silent.url).read('a', [], 60)).rejects.toThrow(`a: ${silent.url}: no answer in time`)
  })

  it('is refused where as many as may are under way', async () => {
    const server = await serving(() => ({ hang: true }))
    const client = clientOf(server.url, { atOnce: 2 })
    const waiting = [client.read('a', [], 300), client.read('a', [], 300)].map((read) => read.catch(() => 'late'))
    await expect(client.read('b', [])).rejects.toThrow(UpstreamBusy)
    // What this node itself reads is not delayed by its clients.
    await expect(client.call('c', [], 60)).rejects.toThrow('no answer in time')
    expect(await Promise.all(waiting)).toEqual(['late', 'late'])
    await expect(client.read('c', [], 60)).rejects.toThrow('no answer in time')
  })

  it('checks after a failure that the upstream is the same one', async () => {
    let attempts = 0
    const server = await serving((requests, isBatch) =>
      ++attempts === 1 ? { status: 503 } : answered(requests, isBatch, ({ method }) => ({ result: method })),
    )
    const seen: unknown[] = []
    const guard = { method: 'guard', params: [1], check: (result: unknown) => void seen.push(result) }
    const client = clientOf(server.url, { guard })
    expect([await client.call('a', []), await client.call('b', []), seen]).toEqual(['a', 'b', ['guard']])
    expect(server.messages.flat().map(({ method }) => method)).toEqual(['a', 'guard', 'a', 'b'])
  })

  it('is refused where the upstream is another one after a failure', async () => {
    let attempts = 0
    const server = await serving((requests, isBatch) =>
      ++attempts === 1 ? { status: 503 } : answered(requests, isBatch, () => ({ result: 'other' })),
    )
    const check = (result: unknown): void => {
      throw new Error(`it has ${String(result)}`)
    }
    await expect(clientOf(server.url, { guard: { method: 'guard', params: [], check } }).read('a', [])).rejects.toThrow('it has other')
    expect(attempts).toBe(2)
  })

  it('ends when the client is closed', async () => {
    const server = await serving(() => ({ hang: true }))
    const client = clientOf(server.url)
    const reading = client.read('a', [])
    setTimeout(() => client.close(), 50)
    await expect(reading).rejects.toThrow('a: ')
  })
})
