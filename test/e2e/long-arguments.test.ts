// Hexadecimal arguments that never become strings, over every transport and through every way to
// the core: the answers are those for the same bytes.
import http from 'node:http'
import { keccak256 } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { type DevNode, startDev } from './dev-node.ts'
import type { RunningNode } from './harness.ts'

type Hex = `0x${string}`

/** The first development account. */
const KEY: Hex = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const TO: Hex = '0x00000000000000000000000000000000000d00d5'
const MIB = 1024 * 1024

/** Bytes that differ from place to place. */
const bytesOf = (count: number): Hex =>
  `0x${Buffer.from(Uint8Array.from({ length: count }, (_, i) => (i * 7 + (i >> 8)) & 0xff)).toString('hex')}`

let node: DevNode & RunningNode

beforeAll(async () => {
  node = await startDev()
})

afterAll(async () => void (await node?.stop()))

const request = (id: number, method: string, params: unknown[]): object => ({ jsonrpc: '2.0', id, method, params })

/** Sends a body over HTTP, with its length or in chunks. */
const post = (body: string, isChunked: boolean): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const length = isChunked ? {} : { 'content-length': Buffer.byteLength(body) }
    const sent = http.request(node.url, { method: 'POST', headers: { 'content-type': 'application/json', ...length } }, (response) => {
      let text = ''
      response.on('data', (data) => {
        text += data
      })
      response.on('end', () => resolve(JSON.parse(text)))
    })
    sent.on('error', reject)
    for (let at = 0; at < body.length; at += 300_000) sent.write(body.slice(at, at + 300_000))
    sent.end()
  })

/** Sends a message over WebSocket. */
const say = (body: string): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const socket = new WebSocket(node.ws)
    socket.on('open', () => socket.send(body))
    socket.on('error', reject)
    socket.on('close', (code) => reject(new Error(`closed with ${code}`)))
    socket.on('message', (data) => {
      resolve(JSON.parse(data.toString()))
      socket.terminate()
    })
  })

/** Sends a message over every transport; the answer, which must be the same. */
async function everywhere(message: object): Promise<unknown> {
  const body = JSON.stringify(message)
  const answer = await post(body, false)
  expect(await post(body, true)).toEqual(answer)
  expect(await say(body)).toEqual(answer)
  return answer
}

describe('a long argument', () => {
  it('is hashed whole', async () => {
    for (const count of [40_000, 300_000, 2 * MIB]) {
      const long = bytesOf(count)
      expect(await everywhere(request(1, 'web3_sha3', [long]))).toEqual({ jsonrpc: '2.0', id: 1, result: keccak256(long) })
    }
  })

  it('of one request is not that of another in a batch', async () => {
    const all = [50_000, 400_000, 40_000, 900_000].map(bytesOf)
    const answers = await everywhere([...all.map((long, id) => request(id, 'web3_sha3', [long])), request(9, 'eth_chainId', [])])
    expect(answers).toEqual([
      ...all.map((long, id) => ({ jsonrpc: '2.0', id, result: keccak256(long) })),
      { jsonrpc: '2.0', id: 9, result: '0x7a69' },
    ])
  })

  it('is the input of a call and of a trace', async () => {
    const data = bytesOf(200_000)
    // Returns its input: CALLDATACOPY(0, 0, CALLDATASIZE), RETURN(0, CALLDATASIZE).
    const code = '0x365f5f37365ff3'
    const echoed = await everywhere(request(1, 'eth_call', [{ to: TO, data }, 'latest', { [TO]: { code } }]))
    expect(echoed).toMatchObject({ result: data })
    const traced = await everywhere(request(1, 'debug_traceCall', [{ to: TO, input: data }, 'latest', { tracer: 'callTracer' }]))
    expect(traced).toMatchObject({ result: { input: data, to: TO } })
  })

  it('is the code of an account', async () => {
    const code = bytesOf(100_000)
    expect(await everywhere(request(1, 'anvil_setCode', [TO, code]))).toMatchObject({ result: null })
    expect(await everywhere(request(1, 'eth_getCode', [TO, 'latest']))).toMatchObject({ result: code })
  })

  it('is a transaction', async () => {
    const data = bytesOf(50_000)
    const account = privateKeyToAccount(KEY)
    const signed = await Promise.all(
      [0, 1].map((nonce) =>
        account.signTransaction({
          chainId: 31_337,
          nonce,
          gas: 4_000_000n,
          maxFeePerGas: 10n ** 11n,
          maxPriorityFeePerGas: 1n,
          to: '0x0000000000000000000000000000000000000bad',
          data,
        }),
      ),
    )
    const answers = await post(JSON.stringify(signed.map((raw, id) => request(id, 'eth_sendRawTransaction', [raw]))), false)
    expect(answers).toEqual(signed.map((raw, id) => ({ jsonrpc: '2.0', id, result: keccak256(raw) })))
    const found = await post(JSON.stringify(request(1, 'eth_getTransactionByHash', [keccak256(signed[1] as Hex)])), false)
    expect(found).toMatchObject({ result: { input: data, nonce: '0x1' } })
  })

  it('that the core refuses is named as ever', async () => {
    const initcode = await everywhere(request(1, 'eth_call', [{ data: bytesOf(300_000) }, 'latest']))
    expect(initcode).toMatchObject({
      error: { code: -32000, message: expect.stringContaining('max initcode size exceeded: code size 300000') },
    })
    const odd = await everywhere(request(1, 'web3_sha3', [`${bytesOf(40_000)}0`]))
    expect(odd).toMatchObject({ error: { code: -32602, message: 'invalid argument 0: data: hex string of odd length' } })
    const hash = await everywhere(request(1, 'eth_getTransactionByHash', [bytesOf(40_000)]))
    expect(hash).toMatchObject({ error: { code: -32602, message: 'invalid argument 0: hash: hex string has length 80000, want 64' } })
  })
})
