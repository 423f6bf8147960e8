// A trace that fails after its first megabyte has gone out: the answer is valid JSON with an error
// in it, and every client throws.
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import { JsonRpcProvider, Network, WebSocketProvider } from 'ethers'
import {
  BaseError,
  createPublicClient,
  createWalletClient,
  fromRlp,
  type Hex,
  http,
  keccak256,
  publicActions,
  RpcRequestError,
  toRlp,
  webSocket,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { goClient } from './go-client.ts'
import { type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { message, post } from './raw.ts'
import { doubled } from './waiting.ts'

const MIB = 1024 * 1024
const TARGET = `0x${'71'.repeat(20)}`
const LATE = { code: -32_000, message: 'execution timeout' }

/**
 * `JUMPDEST PUSH4 1 MiB PUSH1 0 KECCAK256 POP PUSH1 0 JUMP`: hashes a megabyte per round, and with
 * its memory shown writes more than two of them at once in the first round. A deadline between the
 * two thus does not depend on the load of the machine.
 */
const HASHING = '0x5b63001000006000205060005600'

/** Steps are written up to 3 MiB, in the first round; the loop runs on until the time is over. */
const CONFIG = { limit: 3 * MIB, enableMemory: true }

/** Gas for more rounds than any machine makes in that time. */
const GAS = 10 ** 14

/** A trace that its time ends. */
const callFor = (timeoutMs: number) => ({
  method: 'debug_traceCall',
  params: [
    { to: TARGET, gas: `0x${GAS.toString(16)}` },
    'latest',
    { stateOverrides: { [TARGET]: { code: HASHING } }, ...CONFIG, timeout: `${timeoutMs}ms` },
  ],
})

/** One whose time is over after the first round. */
let CALL: ReturnType<typeof callFor>

const home = tempHome()
let node: RunningNode

beforeAll(async () => {
  node = await startNode(['dev', '--home', home, `--evm.simulation_gas_limit=${GAS}`])
  const isLate = async (ms: number) => 'result' in JSON.parse(await text('http', { jsonrpc: '2.0', id: 1, ...callFor(ms) }))
  // A machine that gets busier still has four times as long for the first round.
  CALL = callFor(4 * (await doubled('time for the first round', { from: 60, most: 60_000 }, isLate)))
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

const TRANSPORTS = ['http', 'ws'] as const
type Transport = (typeof TRANSPORTS)[number]

const urlOf = (over: Transport): string => (over === 'http' ? node.url : node.ws)

/** The text of an answer. */
async function text(over: Transport, body: unknown): Promise<string> {
  const chunks: Buffer[] = []
  const ask = over === 'http' ? post : message
  await ask(urlOf(over), JSON.stringify(body), (bytes) => chunks.push(bytes))
  return Buffer.concat(chunks).toString()
}

interface Envelope {
  id: number
  result: { structLogs: unknown[] }
  error?: unknown
}

/** A result that was cut short after more than a megabyte, and its error. */
function expectLate(envelope: Envelope): void {
  expect(Object.keys(envelope)).toEqual(['jsonrpc', 'id', 'result', 'error'])
  expect(envelope.error).toEqual(LATE)
  expect(Object.keys(envelope.result)).toEqual(['structLogs'])
  expect(envelope.result.structLogs[0]).toMatchObject({ pc: 0, op: 'JUMPDEST', depth: 1 })
  expect(JSON.stringify(envelope.result).length).toBeGreaterThan(MIB)
}

describe.each(TRANSPORTS)('a trace that fails late, over %s', (over) => {
  it('closes its result and names the error behind it', async () => {
    expectLate(JSON.parse(await text(over, { jsonrpc: '2.0', id: 7, ...CALL })))
  })

  it('spoils nothing else of a batch', async () => {
    const chainId = { jsonrpc: '2.0', method: 'eth_chainId', params: [] }
    const body = [
      { ...chainId, id: 1 },
      { jsonrpc: '2.0', id: 2, ...CALL },
      { ...chainId, id: 3 },
    ]
    const [before, late, after] = JSON.parse(await text(over, body))
    expect(before).toEqual({ jsonrpc: '2.0', id: 1, result: '0x7a69' })
    expect(late.id).toBe(2)
    expectLate(late)
    expect(after).toEqual({ jsonrpc: '2.0', id: 3, result: '0x7a69' })
  })

  it('makes viem throw, alone and in a batch', async () => {
    const transport = over === 'http' ? http(node.url, { retryCount: 0, batch: true }) : webSocket(node.ws, { retryCount: 0 })
    const client = createPublicClient({ chain: hardhat, transport })
    for (const companions of [0, 1]) {
      const asked = [client.request(CALL as never), ...Array.from({ length: companions }, () => client.getChainId())]
      const [late, ...others] = await Promise.allSettled(asked)
      expect(others).toEqual(Array.from({ length: companions }, () => ({ status: 'fulfilled', value: 31_337 })))
      expect(late?.status).toBe('rejected')
      const error = (late as PromiseRejectedResult).reason
      expect(error).toBeInstanceOf(BaseError)
      const cause = (error as BaseError).walk((e) => e instanceof RpcRequestError) as RpcRequestError
      expect({ code: cause.code, message: cause.details }).toEqual(LATE)
    }
    if (over === 'ws') (await (client.transport as unknown as { getRpcClient(): Promise<{ close(): void }> }).getRpcClient()).close()
  })

  it('makes ethers throw, alone and in a batch', async () => {
    const network = Network.from(31_337)
    const options = { staticNetwork: network }
    const provider = over === 'http' ? new JsonRpcProvider(node.url, network, options) : new WebSocketProvider(node.ws, network, options)
    try {
      for (const companions of [0, 1]) {
        const asked = [
          provider.send(CALL.method, CALL.params),
          ...Array.from({ length: companions }, () => provider.send('eth_chainId', [])),
        ]
        const [late, ...others] = await Promise.allSettled(asked)
        expect(others).toEqual(Array.from({ length: companions }, () => ({ status: 'fulfilled', value: '0x7a69' })))
        expect(late).toMatchObject({ status: 'rejected', reason: { code: 'UNKNOWN_ERROR', error: LATE } })
      }
    } finally {
      await provider.destroy()
    }
  })

  it("makes go-ethereum's client throw, alone and in a batch", (context) => {
    const client = goClient(process.env.HEARTH_TEST === 'full')
    if ('missing' in client) {
      console.log(`skipped: ${client.missing}`)
      return context.skip()
    }
    const { status, stdout, stderr } = spawnSync(client.command, [urlOf(over), CALL.method, JSON.stringify(CALL.params)], {
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([0, ''])
    const error = { code: LATE.code, error: LATE.message }
    expect(JSON.parse(stdout)).toEqual({ alone: error, batch: [{ result: '0x7a69' }, error] })
  })
})

describe('a block with a transaction whose trace fails late', () => {
  const account = mnemonicToAccount('test test test test test test test test test test test junk')

  /** Most gas that a transaction may have (EIP-7825), about. */
  const MOST_GAS = 16_000_000n

  /** How often the time may be over before the first megabyte, or the hashing before the time. */
  const ATTEMPTS = 50

  let hashing: Hex
  let block: Hex
  let hashes: Hex[]

  /**
   * A block of a transfer, the hashing and another transfer: one of the chain, with other
   * transactions in it.
   */
  beforeAll(async () => {
    const client = createWalletClient({ account, chain: hardhat, transport: http(node.url) }).extend(publicActions)
    const size = (HASHING.length - 2) / 2
    const deploy: Hex = `0x60${size.toString(16).padStart(2, '0')}80600b6000396000f3${HASHING.slice(2)}`
    const deployed = await client.waitForTransactionReceipt({ hash: await client.sendTransaction({ data: deploy }) })
    hashing = deployed.contractAddress as Hex
    expect(await client.getCode({ address: hashing })).toBe(HASHING)
    const nonce = await client.getTransactionCount({ address: account.address })
    const sent = await client.waitForTransactionReceipt({ hash: await client.sendTransaction({ to: TARGET as Hex, value: 1n }) })
    const raw = (await rpc(node.url, 'debug_getRawBlock', [`0x${sent.blockNumber.toString(16)}`])).result as Hex
    const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 1n, chainId: 31_337, type: 'eip1559' } as const
    const transactions = await Promise.all(
      [
        { to: TARGET as Hex, gas: 21_000n },
        { to: hashing, gas: MOST_GAS },
        { to: TARGET as Hex, gas: 21_000n },
      ].map((tx, i) => account.signTransaction({ ...fees, ...tx, value: 0n, nonce: nonce + i })),
    )
    hashes = transactions.map((tx) => keccak256(tx))
    const [header, , ...rest] = fromRlp(raw, 'hex') as Hex[]
    block = toRlp([header as Hex, transactions, ...rest] as never)
  })

  it.each(TRANSPORTS)('has the error next to a partial result, the rest whole (%s)', async (over) => {
    type Element = { txHash: string; result: { structLogs: unknown[]; gas: number; failed: boolean }; error?: unknown }
    let elements: Element[] = []
    // The time is between the duration of the first megabytes and that of all hashing: the search
    // starts from both sides.
    let timeoutMs = 40
    for (let i = 0; i < ATTEMPTS; i++) {
      const config = { ...CONFIG, timeout: `${Math.round(timeoutMs)}ms` }
      const body = { jsonrpc: '2.0', id: 1, method: 'debug_traceBlock', params: [block, config] }
      const answer = JSON.parse(await text(over, body)) as { result: Element[] }
      expect(Object.keys(answer)).toEqual(['jsonrpc', 'id', 'result'])
      elements = answer.result
      const late = elements[1] as Element
      if (late.result !== undefined && late.error !== undefined) break
      timeoutMs *= late.result === undefined ? 1.5 : 0.8
    }
    expect(elements.map((element) => element.txHash)).toEqual(hashes)
    const [first, late, last] = elements as [Element, Element, Element]
    for (const transfer of [first, last]) {
      expect(Object.keys(transfer)).toEqual(['txHash', 'result'])
      expect(transfer.result).toEqual({ structLogs: [], gas: 21_000, failed: false, returnValue: '0x' })
    }
    expect(Object.keys(late)).toEqual(['txHash', 'result', 'error'])
    expect(late.error).toEqual(LATE)
    expect(Object.keys(late.result)).toEqual(['structLogs'])
    expect(JSON.stringify(late.result).length).toBeGreaterThan(MIB)
  })
})
