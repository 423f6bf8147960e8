// The chain id of a running chain, changed: it takes effect for all clients at once, and never for
// earlier blocks. Compared with anvil where possible.
import fs from 'node:fs'
import { type Hex, parseTransaction } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { type DevNode, startDev, startNamed } from './dev-node.ts'
import { startNode, tempHome } from './harness.ts'
import { nodesBeside, testsOn } from './peer.ts'

const KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'
const account = privateKeyToAccount(KEY)
const [FIRST, SECOND, THIRD] = [31_337, 1234, 777]
const KEEPS = '0x00000000000000000000000000000000000000a1'
const RETURNS = '0x00000000000000000000000000000000000000a2'
/** CHAINID, PUSH0, SSTORE: keeps the id that it ran under. */
const KEEPS_CODE = '0x465f5500'
/** CHAINID as a word. */
const RETURNS_CODE = '0x465f5260205ff3'
const hex = (n: number): string => `0x${n.toString(16)}`
const word = (n: number): string => `0x${n.toString(16).padStart(64, '0')}`

async function withCode(node: DevNode): Promise<Calls> {
  const calls = new Calls(node.url)
  await calls.call('anvil_setCode', KEEPS, KEEPS_CODE)
  await calls.call('anvil_setCode', RETURNS, RETURNS_CODE)
  return calls
}

const returnedId = async (node: Calls, block = 'latest'): Promise<number> =>
  Number(await node.call<string>('eth_call', { to: RETURNS, gas: '0x186a0' }, block))

for (const name of nodesBeside('anvil', 'the chain id')) {
  describe(`anvil_setChainId of ${name}`, () => {
    const { before, test } = testsOn(name)
    let node: DevNode | undefined
    let dev: Calls
    before(async () => {
      node = await startNamed(name)
      dev = await withCode(node)
    })
    afterAll(async () => {
      await node?.stop()
    })

    test('holds at once, and outlives snapshots and resets', async () => {
      expect(await dev.call('anvil_setChainId', SECOND)).toBeNull()
      expect([await dev.call('eth_chainId'), await dev.call('net_version'), await returnedId(dev)]).toEqual([hex(SECOND), '1234', SECOND])
      expect(await dev.call('anvil_nodeInfo')).toMatchObject({ environment: { chainId: SECOND } })
      expect(await dev.call('anvil_metadata')).toMatchObject({ chainId: SECOND })
      const snapshot = await dev.call('evm_snapshot')
      await dev.call('anvil_setChainId', THIRD)
      expect(await dev.call('evm_revert', snapshot)).toBe(true)
      expect([await dev.call('eth_chainId'), await returnedId(dev)]).toEqual([hex(THIRD), THIRD])
      await dev.call('anvil_reset')
      expect(await dev.call('eth_chainId')).toBe(hex(THIRD))
    })

    test('is what transactions must be signed for', async () => {
      await dev.call('anvil_setChainId', SECOND)
      const signed = (chainId: number, nonce: number): Promise<Hex> =>
        account.signTransaction({ chainId, nonce, gas: 21_000n, maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 1n, to: BOB, value: 1n })
      expect((await dev.refused('eth_sendRawTransaction', await signed(FIRST, 0))).message).toMatch(/chain id/i)
      const hash = await dev.call<string>('eth_sendRawTransaction', await signed(SECOND, 0))
      expect(await dev.call('eth_getTransactionByHash', hash)).toMatchObject({ chainId: hex(SECOND) })
    })
  })
}

describe('a chain whose id changes', () => {
  let node: DevNode
  let dev: Calls
  beforeAll(async () => {
    node = await startDev()
    dev = await withCode(node)
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
  })

  const keep = async (from: string = ALICE): Promise<string> => dev.send(from, KEEPS, { gas: '0x186a0' })
  /** The id that a transaction wrote, in its trace. */
  const written = async (hash: string): Promise<string | undefined> => {
    const diff = await dev.trace<{ post: Record<string, { storage?: Record<string, string> }> }>(hash, 'prestateTracer', { diffMode: true })
    return diff.post[KEEPS]?.storage?.[word(0)]
  }

  it('executes and traces each block under the id that it has', async () => {
    const before = await keep()
    const old = await dev.block()
    await dev.call('anvil_setChainId', SECOND)
    const after = await keep()
    await dev.call('hardhat_setChainId', hex(FIRST))
    const back = await keep()
    expect(await Promise.all([before, after, back].map(written))).toEqual([FIRST, SECOND, FIRST].map(word))
    expect(await dev.slot(KEEPS, old.number)).toBe(BigInt(FIRST))
    expect(await dev.slot(KEEPS, hex(Number(old.number) + 1))).toBe(BigInt(SECOND))
    // Whole blocks, by number and by hash; the steps of the interpreter; intermediate roots, which
    // execute again.
    for (const [hash, id] of [
      [before, FIRST],
      [after, SECOND],
      [back, FIRST],
    ] as const) {
      const { blockNumber, blockHash } = await dev.call<Record<'blockNumber' | 'blockHash', string>>('eth_getTransactionReceipt', hash)
      const block = await dev.block(blockNumber)
      const config = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } }
      for (const [method, of] of [
        ['debug_traceBlockByNumber', blockNumber],
        ['debug_traceBlockByHash', blockHash],
      ] as const) {
        const [one] = await dev.call<{ result: { post: Record<string, { storage: Record<string, string> }> } }[]>(method, of, config)
        expect(one?.result.post[KEEPS]?.storage[word(0)], method).toBe(word(id))
      }
      const { structLogs } = await dev.call<{ structLogs: { op: string; stack: string[] }[] }>('debug_traceTransaction', hash, {})
      expect(structLogs.map(({ op }) => op)).toEqual(['CHAINID', 'PUSH0', 'SSTORE', 'STOP'])
      expect(Number(structLogs[1]?.stack[0])).toBe(id)
      expect((await dev.call<string[]>('debug_intermediateRoots', blockHash)).at(-1)).toBe(block.stateRoot)
      expect(await dev.call('eth_getTransactionByHash', hash)).toMatchObject({ chainId: hex(id), from: ALICE })
      const raw = await dev.call<Hex>('eth_getRawTransactionByHash', hash)
      expect(parseTransaction(raw).chainId).toBe(id)
    }
  })

  it('signs with the new id, for impersonated accounts too', async () => {
    await dev.call('anvil_setChainId', THIRD)
    const signed = await dev.call<{ raw: Hex }>('eth_signTransaction', { from: ALICE, to: BOB, gas: '0x5208' })
    expect(parseTransaction(signed.raw).chainId).toBe(THIRD)
    const stranger = '0x00000000000000000000000000000000000000b7'
    await dev.call('anvil_setBalance', stranger, '0xde0b6b3a7640000')
    await dev.call('anvil_impersonateAccount', stranger)
    const hash = await keep(stranger)
    expect(await written(hash)).toBe(word(THIRD))
    expect(await dev.call('eth_getTransactionByHash', hash)).toMatchObject({ chainId: hex(THIRD), from: stranger })
    expect(await dev.refused('eth_sendTransaction', { from: ALICE, to: BOB, chainId: hex(FIRST) })).toEqual({
      code: -32000,
      message: `chainId does not match node's (have=${FIRST}, want=${THIRD})`,
    })
    const simulated = await dev.call<{ calls: { returnData: string }[] }[]>('eth_simulateV1', {
      blockStateCalls: [{ calls: [{ to: RETURNS }] }],
    })
    expect(simulated[0]?.calls[0]?.returnData).toBe(word(THIRD))
    expect(await returnedId(dev, 'pending')).toBe(THIRD)
  })

  it('drops transactions of another id, also from a snapshot', async () => {
    await dev.call('anvil_setChainId', FIRST)
    await dev.call('evm_setAutomine', false)
    const waits = await keep()
    const snapshot = await dev.call('evm_snapshot')
    expect(await dev.call('txpool_status')).toMatchObject({ pending: '0x1' })
    await dev.call('anvil_setChainId', SECOND)
    expect(await dev.call('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    expect(await dev.call('evm_revert', snapshot)).toBe(true)
    expect(await dev.call('txpool_status')).toEqual({ pending: '0x0', queued: '0x0' })
    const next = await keep()
    await dev.call('evm_setAutomine', true)
    expect(await dev.call('eth_getTransactionReceipt', waits)).toBeNull()
    expect(await written(next)).toBe(word(SECOND))
    const raw = await account.signTransaction({ chainId: FIRST, nonce: 0, gas: 21_000n, gasPrice: 10n ** 11n, to: BOB })
    expect((await dev.refused('anvil_reorg', 1, [[raw, 0]])).message).toBe(`invalid chain id for signer: have ${FIRST} want ${SECOND}`)
  })

  it('has its own id as a fork, also of a chain with a new id', async () => {
    await dev.call('anvil_setChainId', FIRST)
    await keep()
    await dev.call('anvil_setChainId', SECOND)
    const there = await keep()
    const fork = await startDev(['--fork-url', node.url, '--chain-id', String(THIRD)])
    try {
      const calls = new Calls(fork.url)
      const send = async (): Promise<string> => calls.send(ALICE, KEEPS, { gas: '0x186a0' })
      expect([await calls.call('eth_chainId'), await returnedId(calls)]).toEqual([hex(THIRD), THIRD])
      const one = await send()
      await calls.call('anvil_setChainId', FIRST)
      const two = await send()
      const slots: unknown[] = []
      for (const hash of [there, one, two]) {
        const diff = await calls.trace<{ post: Record<string, { storage: Record<string, string> }> }>(hash, 'prestateTracer', {
          diffMode: true,
        })
        slots.push(diff.post[KEEPS]?.storage[word(0)])
      }
      expect(slots).toEqual([SECOND, THIRD, FIRST].map(word))
      expect(await calls.call('eth_chainId')).toBe(hex(FIRST))
    } finally {
      expect(await fork.stop()).toBe(0)
    }
  })

  it('keeps it with its home, and its old blocks theirs', async () => {
    const home = tempHome()
    const one = await startNode(['dev', '--home', home])
    const first = new Calls(one.url)
    await first.call('anvil_setCode', KEEPS, KEEPS_CODE)
    const before = await first.send(ALICE, KEEPS, { gas: '0x186a0' })
    await first.call('anvil_setChainId', SECOND)
    const after = await first.send(ALICE, KEEPS, { gas: '0x186a0' })
    const seen = (calls: Calls): Promise<unknown[]> =>
      Promise.all([before, after].map((hash) => calls.trace(hash, 'prestateTracer', { diffMode: true })))
    const traces = await seen(first)
    expect(await one.stop()).toBe(0)
    const two = await startNode(['dev', '--home', home, '--evm.trace_source', 'history'])
    const second = new Calls(two.url)
    expect(await second.call('eth_chainId')).toBe(hex(SECOND))
    expect(await seen(second)).toEqual(traces)
    expect(await second.slot(KEEPS)).toBe(BigInt(SECOND))
    expect(await two.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })
})
