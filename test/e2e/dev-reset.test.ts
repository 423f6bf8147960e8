// A reset that turns the chain of a running node into a fork of another one, and back: with a
// second Hearth, and with anvil's names and texts.
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { createTestClient, encodeFunctionData, http as transport } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { ABI, DEPLOY } from './contract.ts'
import { ALICE, type Block, BOB, Calls } from './dev-calls.ts'
import { type DevNode, startDev } from './dev-node.ts'
import { type RunningNode, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const GET = encodeFunctionData({ abi: ABI, functionName: 'get' })
const set = (value: bigint): string => encodeFunctionData({ abi: ABI, functionName: 'set', args: [value] })
const hex = (n: number): string => `0x${n.toString(16)}`
/** No process listens there. */
const NOWHERE = 'http://127.0.0.1:1'

let originNode: DevNode
let origin: Calls
let contract: string
/**
 * Blocks of the remote node: the first creates the contract, its value is 41 after the second, 42
 * after the last one.
 */
let after41: number
let last: number

beforeAll(async () => {
  originNode = await startDev(['--chain-id', '4242'])
  origin = new Calls(originNode.url)
  const made = await origin.send(ALICE, undefined, { data: DEPLOY })
  contract = (await origin.call<{ contractAddress: string }>('eth_getTransactionReceipt', made)).contractAddress
  await origin.send(ALICE, contract, { data: set(41n) })
  after41 = await origin.height()
  await origin.call('anvil_mine', 5)
  await origin.send(ALICE, contract, { data: set(42n) })
  last = await origin.height()
})
afterAll(async () => {
  await originNode.stop()
})

const running: RunningNode[] = []
afterAll(async () => {
  for (const node of running) expect(await node.stop()).toBe(0)
})

async function dev(...args: string[]): Promise<Calls & { readonly node: RunningNode }> {
  const node = await startNode(['dev', ...args])
  running.push(node)
  return Object.assign(new Calls(node.url), { node })
}

const valueAt = async (node: Calls, block = 'latest'): Promise<bigint> =>
  BigInt(await node.call<string>('eth_call', { to: contract, data: GET }, block))

/** Everything that says which chain it is. */
const chainOf = async (node: Calls): Promise<unknown> => [
  await node.call('eth_chainId'),
  await node.block(),
  await node.balance(BOB),
  await node.call('eth_getCode', contract, 'latest'),
]

describe('a chain of its own', () => {
  it('becomes a fork, another fork, and again what it was', async () => {
    const node = await dev()
    const genesis = await node.block('0x0')
    await node.send(ALICE, BOB, { value: '0x5' })
    const snapshot = await node.call('evm_snapshot')

    expect(await node.call('anvil_reset', { forking: { jsonRpcUrl: originNode.url, blockNumber: after41 } })).toBeNull()
    expect([await node.call('eth_chainId'), await node.height()]).toEqual(['0x1092', after41])
    expect((await node.block()).hash).toBe((await origin.block(hex(after41))).hash)
    expect(await valueAt(node)).toBe(41n)
    expect(await node.call('evm_revert', snapshot)).toBe(false)
    // It continues from there, with traces of both sides; the origin learns nothing.
    const own = await node.send(ALICE, contract, { data: set(7n) })
    expect([await node.height(), await valueAt(node), await valueAt(node, hex(after41)), await valueAt(origin)]).toEqual([
      after41 + 1,
      7n,
      41n,
      42n,
    ])
    expect(await node.trace(own, 'callTracer')).toMatchObject({ from: ALICE, to: contract, input: set(7n) })

    expect(await node.call('hardhat_reset', { forking: { jsonRpcUrl: originNode.url } })).toBeNull()
    expect([await node.height(), await valueAt(node)]).toEqual([last, 42n])
    expect(await node.call('eth_getTransactionReceipt', own)).toBeNull()

    expect(await node.call('hardhat_reset')).toBeNull()
    expect([await node.call('eth_chainId'), await node.height()]).toEqual(['0x7a69', 0])
    expect(await node.call('eth_getCode', contract, 'latest')).toBe('0x')
    expect((await node.block()).stateRoot).toBe(genesis.stateRoot)
    expect((await node.call<{ status: string }>('eth_getTransactionReceipt', await node.send(ALICE, BOB))).status).toBe('0x1')
  })

  it.each(['anvil', 'hardhat'] as const)('becomes one for viem’s test client of mode %s', async (mode) => {
    const node = await dev()
    const client = createTestClient({ mode, transport: transport(node.url) })
    await client.reset({ jsonRpcUrl: originNode.url, blockNumber: BigInt(after41) })
    expect([await node.height(), await valueAt(node)]).toEqual([after41, 41n])
    // viem sends an empty object where it is given nothing: the fork goes back to its block.
    await client.mine({ blocks: 2 })
    await client.reset()
    expect([await node.height(), await valueAt(node)]).toEqual([after41, 41n])
  })

  it('stays as it was where the reset fails, and says why', async () => {
    const node = await dev()
    await node.send(ALICE, BOB, { value: '0x5' })
    const before = await chainOf(node)
    const refused = (forking: unknown): Promise<{ code: number; message: string }> => node.refused('anvil_reset', { forking })
    expect(await refused({ jsonRpcUrl: 'nothing' })).toMatchObject({ code: -32602 })
    expect(await refused({ jsonRpcUrl: originNode.url, blockNumber: 'latest' })).toMatchObject({ code: -32602 })
    expect(await refused({ jsonRpcUrl: originNode.url, blockNumber: '0xffffffffffffffff' })).toMatchObject({ code: -32602 })
    expect(await refused({ blockNumber: 1 })).toEqual({
      code: -32602,
      message: 'Forking not enabled and RPC URL not provided to start forking',
    })
    expect(await refused({ jsonRpcUrl: originNode.url, blockNumber: 99_999 })).toEqual({
      code: -32000,
      message: `cannot fork ${originNode.url}: it has no block 99999`,
    })
    expect(await chainOf(node)).toEqual(before)
    expect((await node.call<{ status: string }>('eth_getTransactionReceipt', await node.send(ALICE, BOB))).status).toBe('0x1')
  })

  it('stays as it was where nobody answers at the URL', async () => {
    const node = await dev('--fork-timeout', '1s')
    const before = await chainOf(node)
    const { code, message } = await node.refused('anvil_reset', { forking: { jsonRpcUrl: NOWHERE } })
    expect([code, message]).toEqual([-32000, expect.stringContaining(`cannot fork ${NOWHERE}`)])
    expect(await chainOf(node)).toEqual(before)
  })

  it('notifies subscribers of the new chain', async () => {
    const node = await dev()
    const socket = new WebSocket(node.node.ws)
    const heard: { params?: { result?: Block } }[] = []
    await new Promise((resolve) => socket.once('open', resolve))
    socket.on('message', (data) => heard.push(JSON.parse(String(data)) as never))
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newHeads'] }))
    while (heard.length === 0) await new Promise((r) => setTimeout(r, 10))
    const filter = await node.call('eth_newBlockFilter')
    await node.call('evm_mine')
    await node.call('anvil_reset', { forking: { jsonRpcUrl: originNode.url, blockNumber: after41 } })
    await node.call('evm_mine')
    const { hash } = await node.block()
    await until('the new head', () => heard.some((one) => one.params?.result?.hash === hash))
    const heads = heard.flatMap((one) => (one.params?.result === undefined ? [] : [Number(one.params.result.number)]))
    expect(heads.at(-1)).toBe(after41 + 1)
    expect((await node.call<string[]>('eth_getFilterChanges', filter)).at(-1)).toBe(hash)
    socket.close()
  })

  it('answers during a reset, each from one chain or an error', async () => {
    const node = await dev()
    let isOver = false
    const seen = new Set<string>()
    const asking = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] })
        const response = await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
        const { result, error } = (await response.json()) as { result?: Block; error?: { message: string } }
        seen.add(result?.number ?? error?.message ?? 'nothing')
      }
    })
    for (let round = 0; round < 3; round++) {
      await node.call('anvil_reset', { forking: { jsonRpcUrl: originNode.url, blockNumber: after41 } })
      await node.call('anvil_reset')
    }
    isOver = true
    await Promise.all(asking)
    const replaced = 'the chain was replaced by another one during this request: send it again'
    expect([...seen].filter((one) => ![hex(after41), '0x0', replaced].includes(one))).toEqual([])
    expect(seen).toContain('0x0')
  })
})

describe('a fork', () => {
  it('returns to its own block, or another of the same node', async () => {
    const node = await dev('--fork-url', originNode.url, '--fork-block', String(after41))
    await node.send(ALICE, contract, { data: set(7n) })
    expect(await node.call('anvil_reset')).toBeNull()
    expect([await node.height(), await valueAt(node)]).toEqual([after41, 41n])
    await node.send(ALICE, contract, { data: set(8n) })
    // viem sends this where it is given nothing.
    expect(await node.call('anvil_reset', { forking: {} })).toBeNull()
    expect([await node.height(), await valueAt(node)]).toEqual([after41, 41n])
    expect(await node.call('anvil_reset', { forking: { blockNumber: hex(last) } })).toBeNull()
    expect([await node.height(), await valueAt(node)]).toEqual([last, 42n])
    expect(await node.refused('anvil_reset', { forking: { blockNumber: 99_999 } })).toMatchObject({ code: -32000 })
    expect(await valueAt(node)).toBe(42n)
    expect(await node.call('anvil_reset')).toBeNull()
    expect([await node.height(), await valueAt(node)]).toEqual([after41, 41n])
    expect(await node.call('anvil_nodeInfo')).toMatchObject({
      forkConfig: { forkBlockNumber: after41, forkUrl: originNode.url },
    })
  })

  it('is read from another node with its block on request', async () => {
    let asked = 0
    const server = http.createServer(async (request, response) => {
      asked++
      const parts: Buffer[] = []
      for await (const part of request) parts.push(part as Buffer)
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: Buffer.concat(parts).toString() }
      const answer = await fetch(originNode.url, init)
      response.writeHead(200, { 'content-type': 'application/json' }).end(Buffer.from(await answer.arrayBuffer()))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const node = await dev('--fork-url', originNode.url)
    expect(await node.call('anvil_setRpcUrl', url)).toBeNull()
    const forChange = asked
    expect(forChange).toBeGreaterThan(0)
    expect(await node.balance('0x00000000000000000000000000000000000000d1')).toBe(0n)
    expect(asked).toBeGreaterThan(forChange)
    const other = await dev()
    expect(await node.refused('anvil_setRpcUrl', other.url)).toMatchObject({
      code: -32000,
      message: expect.stringContaining(`cannot fork ${other.url}: it has no block ${last}`),
    })
    await other.call('anvil_mine', last)
    expect((await node.refused('anvil_setRpcUrl', other.url)).message).toContain(`${other.url} has not block ${last} `)
    const before = asked
    expect(await node.balance('0x00000000000000000000000000000000000000d2')).toBe(0n)
    expect(asked).toBeGreaterThan(before)
    server.closeAllConnections()
    server.close()
  })

  it('proves the origin’s blocks, and refuses later ones', async () => {
    const node = await dev('--fork-url', originNode.url)
    const same = async (method: string, ...params: unknown[]): Promise<void> =>
      expect(await node.call(method, ...params), method).toEqual(await origin.call(method, ...params))
    await same('eth_getProof', contract, ['0x0'], hex(after41))
    await same('eth_getProof', contract, ['0x0'], hex(last))
    await same('eth_getProof', contract, ['0x0'], { blockHash: (await origin.block()).hash })
    await same('debug_storageRangeAt', (await origin.block()).hash, 0, contract, '0x', 10)
    await same('debug_storageRangeAt', hex(after41), 0, contract, '0x', 10)
    await node.send(ALICE, contract, { data: set(9n) })
    const { hash } = await node.block()
    for (const block of ['latest', hex(last + 1), { blockHash: hash }]) {
      expect(await node.refused('eth_getProof', contract, ['0x0'], block)).toEqual({
        code: -32000,
        message: expect.stringContaining(`up to block ${last}, where the fork begins, the origin answers`),
      })
      expect(await node.refused('debug_storageRangeAt', block, 0, contract, '0x', 10)).toMatchObject({
        message: expect.stringContaining('the storage of the own blocks of a fork cannot be listed'),
      })
    }
    expect(await node.refused('eth_getProof', contract, [], '0xffff')).toMatchObject({ message: expect.stringContaining('not found') })
  })
})

describe('a chain that is kept', () => {
  it('goes back to its first block, and becomes no other one', async () => {
    const home = tempHome()
    const node = await startNode(['dev', '--home', home])
    const calls = new Calls(node.url)
    await calls.send(ALICE, BOB, { value: '0x5' })
    expect(await calls.refused('anvil_reset', { forking: { jsonRpcUrl: originNode.url } })).toMatchObject({
      code: -32000,
      message: expect.stringContaining('keeps its chain: only hearth dev without --home'),
    })
    expect(await calls.height()).toBe(1)
    expect(await calls.call('anvil_reset')).toBeNull()
    expect(await calls.height()).toBe(0)
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })
})
