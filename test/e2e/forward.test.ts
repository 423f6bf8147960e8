// A node that makes no blocks: transactions are refused, or forwarded to a node that puts them into
// blocks; never kept.
import fs from 'node:fs'
import path from 'node:path'
import { createWalletClient, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hearth, ROOT, type RunningNode, rpc, startNode, tempHome } from './harness.ts'

const home = tempHome()
const account = mnemonicToAccount('test test test test test test test test test test test junk')
const SECRET = 'hunter2'
let target: RunningNode

beforeAll(async () => {
  const made = await startNode(['dev', '--home', home])
  expect(await made.stop()).toBe(0)
  target = await startNode(['dev'])
})
afterAll(async () => {
  expect(await target.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

const sign = (nonce: number): Promise<string> =>
  createWalletClient({ account, chain: hardhat, transport: http(target.url) }).signTransaction({
    to: account.address,
    gas: 21_000n,
    maxFeePerGas: 10n ** 11n,
    maxPriorityFeePerGas: 1n,
    nonce,
  })

/** Requests over one WebSocket; their answers in order. */
async function overWebSocket(url: string, bodies: readonly unknown[]): Promise<unknown[]> {
  const { WebSocket } = await import('ws')
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  try {
    const answers: unknown[] = []
    for (const body of bodies) {
      const answer = new Promise<string>((resolve) => socket.once('message', (data) => resolve(data.toString())))
      socket.send(JSON.stringify(body))
      answers.push(JSON.parse(await answer))
    }
    return answers
  } finally {
    socket.close()
  }
}

const call = (id: number, method: string, ...params: unknown[]): object => ({ jsonrpc: '2.0', id, method, params })

describe('hearth start', () => {
  it('refuses transactions and says so everywhere', async () => {
    const node = await startNode(['start', '--home', home])
    try {
      const message = 'this node makes no blocks and forwards transactions to no other node: set evm.forward_url'
      const error = { code: -32000, message }
      const raw = await sign(0)
      expect((await rpc(node.url, 'eth_sendRawTransaction', [raw])).error).toEqual(error)
      expect((await rpc(node.url, 'eth_sendRawTransactionSync', [raw, 1])).error).toEqual(error)
      const [one, batch] = await overWebSocket(node.ws, [
        call(1, 'eth_sendRawTransaction', raw),
        [call(1, 'eth_sendRawTransaction', raw), call(2, 'eth_blockNumber')],
      ])
      expect(one).toEqual({ jsonrpc: '2.0', id: 1, error })
      expect(batch).toEqual([
        { jsonrpc: '2.0', id: 1, error },
        { jsonrpc: '2.0', id: 2, result: '0x0' },
      ])
      expect((await rpc(node.url, 'txpool_status')).result).toEqual({ pending: '0x0', queued: '0x0' })
      const refused = 'refused (evm.forward_url names no node to forward them to)'
      const noBlocks = 'this node makes no blocks: new ones come from `hearth import`'
      expect(node.log()).toContain(`Note: ${noBlocks}. Transactions are ${refused}.\n`)
      expect(node.log()).toContain(`"transactions":"${refused}","msg":"${noBlocks}"`)
      const status = hearth(['status', '--home', home]).stdout
      expect(status).toMatch(/^blocks {2,}none are made; new ones come from `hearth import`$/m)
      expect(status).toContain(refused)
      expect(hearth(['start', '--help']).stdout).toContain('over JSON-RPC. The node makes no blocks.')
      expect(fs.readFileSync(path.join(ROOT, 'README.md'), 'utf8')).toContain('`hearth start` makes no blocks')
    } finally {
      expect(await node.stop()).toBe(0)
    }
  })

  it('forwards them to a node that makes blocks', async () => {
    const node = await startNode(['start', '--home', home, `--evm.forward_url=${target.url.replace('//', `//user:${SECRET}@`)}`])
    try {
      const first = (await rpc(node.url, 'eth_sendRawTransaction', [await sign(0)])).result
      expect(first).toMatch(/^0x[0-9a-f]{64}$/)
      expect((await rpc(target.url, 'eth_getTransactionReceipt', [first])).result).toMatchObject({ status: '0x1', blockNumber: '0x1' })
      expect((await rpc(target.url, 'eth_getBlockByNumber', ['0x1', false])).result).toMatchObject({ transactions: [first] })
      // The next nonce is what the other node says.
      const nonce = (tag: string) => rpc(node.url, 'eth_getTransactionCount', [account.address, tag])
      expect([(await nonce('pending')).result, (await nonce('latest')).result]).toEqual(['0x1', '0x0'])
      const receipt = (await rpc(node.url, 'eth_sendRawTransactionSync', [await sign(1)])).result
      expect(receipt).toMatchObject({ status: '0x1', blockNumber: '0x2' })
      const [batch] = await overWebSocket(node.ws, [
        [call(1, 'eth_sendRawTransaction', await sign(2)), call(2, 'eth_sendRawTransaction', await sign(3)), call(3, 'eth_chainId')],
      ])
      const [third, fourth, chainId] = batch as { result: string }[]
      expect(chainId).toEqual({ jsonrpc: '2.0', id: 3, result: '0x7a69' })
      for (const [sent, blockNumber] of [
        [third, '0x3'],
        [fourth, '0x4'],
      ] as const) {
        expect((await rpc(target.url, 'eth_getTransactionReceipt', [sent?.result])).result).toMatchObject({ status: '0x1', blockNumber })
      }
      // The other node's refusal, in its words.
      const again = await sign(0)
      const { error } = await rpc(target.url, 'eth_sendRawTransaction', [again])
      expect(error).toMatchObject({ code: -32000, message: expect.stringContaining('nonce too low') })
      expect((await rpc(node.url, 'eth_sendRawTransaction', [again])).error).toEqual(error)
      expect((await rpc(node.url, 'txpool_status')).result).toEqual({ pending: '0x0', queued: '0x0' })
      const page = await (await fetch(node.metrics ?? '')).text()
      const counts = [...page.matchAll(/^evmrpc_redirected_requests_total\{endpoint="(\w+)",connection="(\w+)"\} (\d+)$/gm)]
      expect(counts.map(([, endpoint, connection, count]) => `${endpoint} ${connection} ${count}`)).toEqual([
        'eth_sendRawTransaction http 2',
        'eth_sendRawTransaction websocket 2',
        'eth_sendRawTransactionSync http 1',
        'eth_sendRawTransactionSync websocket 0',
        'eth_getTransactionCount http 1',
        'eth_getTransactionCount websocket 0',
      ])
      // A node that forwards takes no forwarded request.
      const headers = { 'content-type': 'application/json', 'x-hearth-forwarded': '1' }
      const body = JSON.stringify(call(1, 'eth_sendRawTransaction', again))
      const looped = (await (await fetch(node.url, { method: 'POST', headers, body })).json()) as { error: { message: string } }
      expect(looped.error.message).toBe('another node forwarded this request: evm.forward_url of the nodes forms a loop')
      expect(hearth(['status', '--home', home]).stdout).toMatch(new RegExp(`^transactions {2,}forwarded to ${target.url}$`, 'm'))
      expect(node.log() + fs.readFileSync(path.join(home, 'data', 'node.json'), 'utf8')).not.toContain(SECRET)
    } finally {
      expect(await node.stop()).toBe(0)
    }
  })

  it('says that the other node is gone, without its URL', async () => {
    const gone = await startNode(['dev'])
    expect(await gone.stop()).toBe(0)
    const node = await startNode(['start', '--home', home, `--evm.forward_url=${gone.url}/${SECRET}`])
    try {
      const message = 'the node of evm.forward_url cannot be reached: the request was not sent'
      expect((await rpc(node.url, 'eth_sendRawTransaction', [await sign(9)])).error).toEqual({ code: -32000, message })
      const said = node
        .log()
        .split('\n')
        .find((line) => line.includes('forwarding failed'))
      const reason = expect.stringContaining('ECONNREFUSED')
      expect(JSON.parse(said ?? '{}')).toMatchObject({ level: 'warn', node: gone.url, reason, failures: 1 })
      expect(node.log()).not.toContain(SECRET)
    } finally {
      expect(await node.stop()).toBe(0)
    }
  })
})
