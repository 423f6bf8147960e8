// Long answers: a struct log of ten million steps costs the node no memory, and a trace that fails late is still an answer.
import fs from 'node:fs'
import { createPublicClient, http } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RunningNode, startNode, tempHome } from './harness.ts'
import { message, post, type Take } from './raw.ts'

const MIB = 1024 * 1024

/** JUMPDEST PUSH1 7 POP PUSH1 0 JUMP: five steps and 17 gas a turn. */
const LOOP = '0x5b600750600056'
const TARGET = `0x${'71'.repeat(20)}`

/** Gas of a call that makes ten million steps, and a few. */
const GAS = 21_000 + 2_000_001 * 17

const home = tempHome()
let node: RunningNode

beforeAll(async () => {
  node = await startNode(['dev', '--home', home])
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

/**
 * `JUMPDEST PUSH4 1 MiB PUSH1 0 KECCAK256 POP PUSH1 0 JUMP`: hashes a megabyte a round for about a second, and with its memory shown
 * writes more than a megabyte at once in the first round. So a deadline between the two does not depend on how busy the machine is.
 */
const HASHING = '0x5b63001000006000205060005600'

const traceCall = (id: number, config: object, code = LOOP) => ({
  jsonrpc: '2.0',
  id,
  method: 'debug_traceCall',
  params: [{ to: TARGET, gas: `0x${GAS.toString(16)}` }, 'latest', { stateOverrides: { [TARGET]: { code } }, ...config }],
})

/** Counts steps without keeping them. */
class Steps {
  count = 0
  bytes = 0
  head = ''
  tail = ''
  readonly take: Take = (bytes) => {
    const text = this.tail.slice(-5) + bytes.toString('latin1')
    for (let at = text.indexOf('{"pc":'); at !== -1; at = text.indexOf('{"pc":', at + 6)) this.count++
    this.bytes += bytes.length
    if (this.head.length < 200) this.head += bytes.toString('latin1')
    this.tail = (this.tail + bytes.toString('latin1')).slice(-400)
  }
}

/** Memory of the node, in bytes: now, or its peak since `forgetPeak`. */
const memory = (field: 'VmRSS' | 'VmHWM'): number => {
  const status = fs.readFileSync(`/proc/${node.pid}/status`, 'utf8')
  return Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024
}
const forgetPeak = (): void => fs.writeFileSync(`/proc/${node.pid}/clear_refs`, '5')

const OVER = {
  http: (body: string, take: Take) => post(node.url, body, take),
  ws: (body: string, take: Take) => message(node.ws, body, take),
}

describe.skipIf(process.platform !== 'linux')('ten million steps', () => {
  it.each([
    ['http', 'alone'],
    ['ws', 'alone'],
    ['http', 'in a batch'],
    ['ws', 'in a batch'],
  ] as const)('over %s, %s, cost at most 64 MiB', async (over, how) => {
    const call = traceCall(1, { timeout: '5m' })
    // What the first of all requests brings into memory stays there.
    await OVER[over](JSON.stringify(traceCall(0, { timeout: '5m', limit: 3 * MIB })), () => undefined)
    const before = memory('VmRSS')
    forgetPeak()
    const steps = new Steps()
    const chainId = { jsonrpc: '2.0', id: 2, method: 'eth_chainId', params: [] }
    await OVER[over](JSON.stringify(how === 'alone' ? call : [chainId, call]), steps.take)
    const grown = memory('VmHWM') - before
    const answer = '{"jsonrpc":"2.0","id":1,"result":{"structLogs":[{"pc":0,'
    expect(steps.head).toContain(how === 'alone' ? answer : `[{"jsonrpc":"2.0","id":2,"result":"0x7a69"},${answer}`)
    expect(steps.tail).toMatch(/\}\],"gas":\d+,"failed":true,"returnValue":"0x"\}\}\]?$/)
    expect(steps.count).toBeGreaterThanOrEqual(10_000_000)
    expect(steps.bytes).toBeGreaterThan(600 * MIB)
    expect(grown / MIB).toBeLessThanOrEqual(64)
  })
})

describe('a trace that runs out of time', () => {
  // Steps are written up to 3 MiB, in the first round; the loop runs on for the rest.
  const config = { timeout: '250ms', limit: 3 * MIB, enableMemory: true }

  it('before much was sent is an ordinary error', async () => {
    const response = await fetch(node.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(traceCall(1, { timeout: '1ns' })),
    })
    expect(await response.json()).toEqual({ jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'execution timeout' } })
  })

  it.each(['http', 'ws'] as const)('later closes its result and names the error behind it (%s)', async (over) => {
    let text = ''
    await OVER[over](JSON.stringify(traceCall(1, config, HASHING)), (bytes) => {
      text += bytes.toString('latin1')
    })
    const answer = JSON.parse(text) as { result: { structLogs: unknown[] }; error: unknown }
    expect(Object.keys(answer)).toEqual(['jsonrpc', 'id', 'result', 'error'])
    expect(answer.error).toEqual({ code: -32000, message: 'execution timeout' })
    expect(Object.keys(answer.result)).toEqual(['structLogs'])
    expect(text.length).toBeGreaterThan(MIB)
  })

  it('makes viem throw', async () => {
    const client = createPublicClient({ transport: http(node.url, { retryCount: 0 }) })
    const { method, params } = traceCall(1, config, HASHING)
    await expect(client.request({ method, params } as never)).rejects.toThrow('execution timeout')
  })
})
