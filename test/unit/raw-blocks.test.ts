// Blocks of another node for `hearth db repair --from URL`: their answers have a bound, and errors
// show no secret of the URL.
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { rawBlocks } from '../../ts/cli/commands/db/raw-blocks.ts'
import type { BlockRecord } from '../../ts/core/db.ts'
import { type JsonServer, jsonServer, type Reply } from './json-server.ts'

const HASH = `0x${'ab'.repeat(32)}`
const BLOCK = { number: 7, hash: HASH, what: 'block', why: 'damaged' } as BlockRecord

/** A file of blocks that is gone after the test. */
function blockFile(): string {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'hearth-test-'))
  onTestFinished(() => fs.rmSync(dir, { recursive: true }))
  return path.join(dir, 'blocks.rlp')
}

async function answering(reply: Reply): Promise<JsonServer> {
  const server = await jsonServer(() => reply)
  onTestFinished(() => server.stop())
  return server
}

/** The same URL with a user, a key in its path and one in its query. */
const secretly = (url: string): string => `${url.replace('//', '//user:secret-1@')}/v3/secret-2?key=secret-3`

const failureOf = (url: string, bytesMax?: number): Promise<Error> =>
  rawBlocks(url, [BLOCK], blockFile(), bytesMax).then(
    () => new Error('it did not fail'),
    (e: Error) => e,
  )

it('blocks come one after the other', async () => {
  const server = await answering({ body: '{"jsonrpc":"2.0","id":1,"result":"0xc0ff"}' })
  const file = blockFile()
  await rawBlocks(secretly(server.url), [BLOCK, BLOCK], file)
  expect(fs.readFileSync(file).toString('hex')).toBe('c0ffc0ff')
  expect(server.messages.map(([request]) => [request?.method, request?.params])).toEqual([
    ['debug_getRawBlock', [HASH]],
    ['debug_getRawBlock', [HASH]],
  ])
})

it('a block may have many megabytes', async () => {
  const megabytes = 20
  const server = await answering({ body: `{"jsonrpc":"2.0","id":1,"result":"0x${'ab'.repeat(megabytes * 1024 * 1024)}"}` })
  const file = blockFile()
  await rawBlocks(server.url, [BLOCK], file)
  expect(fs.statSync(file).size).toBe(megabytes * 1024 * 1024)
})

it('an answer without a length ends at the bound', async () => {
  let sent = 0
  const endless = http.createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'application/json' })
    const part = Buffer.alloc(64 * 1024, 'a')
    const more = (): void => {
      while (!response.destroyed && response.write(part)) sent += part.length
    }
    response.on('drain', more)
    more()
  })
  await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    endless.closeAllConnections()
    endless.close()
  })
  const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}`
  const { message } = await failureOf(secretly(url), 1024 * 1024)
  expect(message).toBe(`${url}: debug_getRawBlock of block 7 (${HASH}): an answer of more than 1048576 bytes`)
  expect(sent).toBeLessThan(64 * 1024 * 1024)
})

it.each<[string, Reply, string]>([
  ['an error', { body: '{"error":{"message":"no such \\u001b[31mblock"}}' }, 'no such \ufffd[31mblock'],
  ['a status', { status: 404, headers: { 'content-type': 'text/plain' } }, 'HTTP status 404'],
  ['no JSON', { body: '<html>' }, 'its answer is no JSON'],
  ['half a byte', { body: '{"result":"0xabc"}' }, 'no block in the answer'],
  ['no block', { body: 'null' }, 'no block in the answer'],
])('an answer shows no secret of the URL: %s', async (_, reply, why) => {
  const { url } = await answering(reply)
  const { message } = await failureOf(secretly(url))
  expect(message).toBe(`${url}: debug_getRawBlock of block 7 (${HASH}): ${why}`)
})

it('a node that is away shows no secret of its URL', async () => {
  const server = await jsonServer(() => ({}))
  await server.stop()
  const { message } = await failureOf(secretly(server.url))
  expect(message).toContain(`${server.url}: debug_getRawBlock of block 7 (${HASH}): connect ECONNREFUSED`)
  expect(message).not.toContain('secret')
})
