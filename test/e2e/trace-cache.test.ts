// Baked answers of a recorded block over HTTP: the bytes equal the live ones, plain and in gzip, as
// a whole and one by one.
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import zlib from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIXTURES, fixtures } from '../conformance/fixtures.ts'
import { ALL_TRACERS, BAKING, TRACERS } from './bake-node.ts'
import { hearth, type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { message } from './raw.ts'

/** Its block has many small results, and some with much code. */
const BLOCK = '13287210'

/** One in so many transactions is requested by itself. */
const EVERY = 5

/** Results of fewer bytes go out plain. */
const PLAIN_BYTES_MAX = 32 * 1024

interface Answer {
  readonly from: string | undefined
  readonly encoding: string | undefined
  readonly length: string | undefined
  readonly text: string
}

/** A request whose answer is taken as it comes over the wire. */
function ask(url: string, body: string, encoding: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'accept-encoding': encoding }
    const request = http.request(url, { method: 'POST', headers }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const bytes = Buffer.concat(chunks)
      const packed = response.headers['content-encoding']
      resolve({
        from: response.headers['x-hearth-trace'] as string | undefined,
        encoding: packed,
        length: response.headers['content-length'],
        text: (packed === 'gzip' ? zlib.gunzipSync(bytes) : bytes).toString(),
      })
    })
    request.once('error', reject).end(body)
  })
}

/**
 * An unusual id and a plain one: requests with the plain one may be answered without being parsed.
 */
const IDS = ['é"1', 7] as const

const call = (method: string, first: unknown, config: object, id: (typeof IDS)[number] = IDS[0]): string =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params: [first, config] })

/** The text of an answer to the first id, as one to another. */
const withId = (text: string, id: (typeof IDS)[number]): string =>
  text.replace(`"id":${JSON.stringify(IDS[0])}`, `"id":${JSON.stringify(id)}`)

describe.skipIf(!fixtures('mainnet-blocks'))('baked answers of a recorded block', () => {
  const home = tempHome()
  let node: RunningNode
  let hashes: readonly string[]
  let blockHash: string

  beforeAll(async () => {
    const run = (...args: string[]): void => {
      const { status, stderr } = hearth(args)
      if (status !== 0) throw new Error(stderr)
    }
    run('import', '--home', home, '--case', path.join(FIXTURES, `mainnet-blocks/${BLOCK}.json.gz`))
    run('bake', '--home', home, '--from', BLOCK, '--to', BLOCK, ...BAKING, ALL_TRACERS)
    node = await startNode(['start', '--home', home, ...BAKING, ALL_TRACERS])
    const block = (await rpc(node.url, 'eth_getBlockByNumber', ['latest', false])).result as { hash: string; transactions: string[] }
    hashes = block.transactions
    blockHash = block.hash
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  it.each(TRACERS)('%s of the block, by number and by hash', async (tracer) => {
    const live = await ask(node.url, call('debug_traceBlockByNumber', 'latest', { tracer, tracerConfig: {} }), 'identity')
    expect(['capsule', 'history']).toContain(live.from)
    for (const encoding of ['identity', 'gzip', 'identity;q=0, *', 'gzip;q=0', 'identity']) {
      for (const [method, first] of [
        ['debug_traceBlockByNumber', 'latest'],
        ['debug_traceBlockByHash', blockHash],
      ] as const) {
        const gzip = encoding !== 'identity' && encoding !== 'gzip;q=0'
        for (const id of IDS) {
          const baked = await ask(node.url, call(method, first, { tracer }, id), encoding)
          expect([baked.from, baked.encoding]).toEqual(['baked', gzip ? 'gzip' : undefined])
          expect(baked.text === withId(live.text, id)).toBe(true)
          // It lies there: its length is known before its first byte.
          if (gzip) expect(baked.length).toBeDefined()
        }
      }
    }
  })

  it.each(TRACERS)('%s of each transaction; large ones in gzip as they lie there', async (tracer) => {
    let packed = 0
    for (const hash of hashes.filter((_, i) => i % EVERY === 0)) {
      const live = await ask(node.url, call('debug_traceTransaction', hash, { tracer, tracerConfig: null }), 'identity')
      for (const [encoding, id] of ['identity', 'gzip'].flatMap((encoding) => IDS.map((id) => [encoding, id] as const))) {
        const baked = await ask(node.url, call('debug_traceTransaction', hash, { tracer }, id), encoding)
        expect([baked.from, baked.text === withId(live.text, id)]).toEqual(['baked', true])
        if (live.text.length < PLAIN_BYTES_MAX) expect(baked.encoding).toBeUndefined()
        else if (encoding === 'gzip') {
          expect(baked.encoding).toBe('gzip')
          packed++
        }
      }
    }
    if (tracer === 'prestateTracer') expect(packed).toBeGreaterThan(0)
  })

  it('the same over WebSocket and in batches', async () => {
    for (const id of IDS) {
      const asked = call('debug_traceBlockByNumber', 'latest', { tracer: 'callTracer' }, id)
      const { text } = await ask(node.url, asked, 'identity')
      const pieces: Buffer[] = []
      await message(node.ws, asked, (bytes) => pieces.push(Buffer.from(bytes)))
      expect(Buffer.concat(pieces).toString() === text).toBe(true)
      const batch = await ask(node.url, `[${asked},${asked}]`, 'gzip')
      expect([batch.from, batch.text === `[${text},${text}]`]).toEqual([undefined, true])
    }
  })
})
