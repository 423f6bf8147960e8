// The header x-hearth-trace as docs/rpc.md has it: its values, and the methods that it comes with.
import fs from 'node:fs'
import { afterEach, expect, it } from 'vitest'
import { rpcPage } from '../../ts/rpc/page.ts'
import { allBaked, BAKING, Sender, startDev } from './bake-node.ts'
import { type RunningNode, rpc, tempHome } from './harness.ts'

const homes: string[] = []
let node: RunningNode
afterEach(async () => {
  expect(await node.stop()).toBe(0)
  for (const home of homes.splice(0)) fs.rmSync(home, { recursive: true, force: true })
})

const FROM = '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266'
const CALLS = { tracer: 'callTracer' }
/** Methods whose traces carry the header, and those whose do not. */
const WITH = ['debug_traceTransaction', 'debug_traceBlockByNumber', 'debug_traceBlockByHash', 'debug_traceBlock']
const WITHOUT = ['debug_traceTransactionProfile', 'debug_traceStateAccess', 'debug_traceCall', 'debug_traceCallMany', 'eth_blockNumber']

async function headerOf(body: unknown): Promise<string | null> {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(node.url, { method: 'POST', headers, body: JSON.stringify(body) })
  const answer = (await response.json()) as { error?: object }
  expect(answer.error).toBeUndefined()
  return response.headers.get('x-hearth-trace')
}

it.each([
  ['baked', BAKING],
  ['capsule', []],
  ['history', ['--evm.trace_source=history']],
] as const)('says that a trace is made from: %s', async (origin, settings) => {
  const home = tempHome()
  homes.push(home)
  node = await startDev(home, ...settings)
  await new Sender(node).transfers(1)
  if (origin === 'baked') await allBaked(node, 1)
  const block = (await rpc(node.url, 'eth_getBlockByNumber', ['0x1', false])).result as { hash: string; transactions: string[] }
  const [hash] = block.transactions
  const raw = (await rpc(node.url, 'debug_getRawBlock', ['0x1'])).result
  const params: Record<string, unknown[]> = {
    debug_traceTransaction: [hash, CALLS],
    debug_traceBlockByNumber: ['0x1', CALLS],
    debug_traceBlockByHash: [block.hash, CALLS],
    debug_traceBlock: [raw, CALLS],
    debug_traceTransactionProfile: [hash, CALLS],
    debug_traceStateAccess: [hash],
    debug_traceCall: [{ from: FROM, to: FROM }, 'latest', CALLS],
    debug_traceCallMany: [[{ transactions: [{ from: FROM, to: FROM }] }], { blockNumber: 'latest' }, CALLS],
    eth_blockNumber: [],
  }
  const request = (method: string) => ({ jsonrpc: '2.0', id: 1, method, params: params[method] })
  for (const method of WITH) {
    // A block that is given as bytes is always executed.
    const want = origin === 'baked' && method === 'debug_traceBlock' ? 'capsule' : origin
    expect([method, await headerOf(request(method))]).toEqual([method, want])
  }
  for (const method of WITHOUT) expect([method, await headerOf(request(method))]).toEqual([method, null])
  expect(await headerOf([request('debug_traceTransaction')])).toBe(null)
  const page = rpcPage()
  expect(page).toContain(`| \`${origin}\` |`)
  expect(page.replaceAll('\n', ' ')).toContain(`${WITH[0]}, ${WITH[3]}, ${WITH[1]} and ${WITH[2]}`)
})
