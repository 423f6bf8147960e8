// The work of a script: calls, simulated blocks, traces under every kind of tracer, baking, replay;
// and its providers.
import fs from 'node:fs'
import path from 'node:path'
import {
  ArgumentError,
  type CallFrame,
  createDevNode,
  type DevNode,
  type Hex,
  LimitError,
  NotFoundError,
  openNode,
  type ProviderMessage,
  ProviderRpcError,
  RevertError,
  TimeoutError,
  TracerFunctionError,
} from 'hearth'
import { HearthProvider } from 'hearth/ethers'
import { type HearthRpcSchema, hearth, traceActions } from 'hearth/viem'
import {
  createPublicClient,
  createWalletClient,
  encodeFunctionData,
  getContractAddress,
  http,
  parseEther,
  rpcSchema,
  webSocket,
} from 'viem'
import { mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIXTURES, fixtures } from '../conformance/fixtures.ts'
import { ABI, DEPLOY, REASON } from './contract.ts'
import { hearth as command, tempHome } from './harness.ts'

const GET = encodeFunctionData({ abi: ABI, functionName: 'get' })
const set = (value: bigint): Hex => encodeFunctionData({ abi: ABI, functionName: 'set', args: [value] })
const word = (value: number): Hex => `0x${value.toString(16).padStart(64, '0')}`

/** JUMPDEST, PUSH1 1, POP, PUSH1 0, JUMP: until the gas is gone. */
const LOOP = '0x5b600150600056'

let node: DevNode
let owner: Hex
let contract: Hex
let deployed: Hex
let setBy: Hex

beforeAll(async () => {
  node = await createDevNode({ settings: { 'evm.trace_bake_enabled': 'true', 'evm.simulation_gas_limit': String(2 ** 50) } })
  owner = node.accounts[0]?.address as Hex
  const send = (tx: object): Promise<Hex> =>
    node.provider.request({ method: 'eth_sendTransaction', params: [{ from: owner, ...tx }] }) as Promise<Hex>
  deployed = await send({ data: DEPLOY })
  contract = getContractAddress({ from: owner, nonce: 0n })
  setBy = await send({ to: contract, data: set(42n) })
})
afterAll(() => node?.close())

describe('calls', () => {
  it('give the contract’s result for any block, with overrides', async () => {
    expect(await node.call({ to: contract, data: GET })).toBe(word(42))
    expect(await node.call({ to: contract, data: GET }, { block: 1n })).toBe(word(0))
    expect(await node.call({ to: Buffer.from(contract.slice(2), 'hex'), data: GET }, { form: 'bytes' })).toEqual(
      Buffer.from(word(42).slice(2), 'hex'),
    )
    const stateOverrides = { [contract]: { stateDiff: { [word(0)]: word(7) } } }
    expect(await node.call({ to: contract, data: GET }, { stateOverrides })).toBe(word(7))
    // NUMBER, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN
    const code = '0x435f5260205ff3'
    const at = `0x${'aa'.repeat(20)}` as const
    expect(await node.call({ to: at }, { stateOverrides: { [at]: { code } }, blockOverrides: { number: 99n } })).toBe(word(99))
  })

  it('reject with a class for each thing that goes wrong', async () => {
    const reverted = await node.call({ to: contract, data: set(0n) }).catch((e: unknown) => e)
    expect(reverted).toBeInstanceOf(RevertError)
    expect(reverted).toMatchObject({
      code: 'execution_reverted',
      message: `execution reverted: ${REASON}`,
      data: expect.stringMatching(/^0x08c379a0/),
    })
    await expect(node.call({ to: '0x12' })).rejects.toThrow(ArgumentError)
    await expect(node.call({ to: contract }, { block: 1000n })).rejects.toThrow(NotFoundError)
    await expect(node.call({ to: contract, value: -1n })).rejects.toThrow(ArgumentError)
    expect(LimitError.name).toBe('LimitError')
  })

  it('end by a signal or a timeout', async () => {
    const at = `0x${'bb'.repeat(20)}` as const
    const loop = { stateOverrides: { [at]: { code: LOOP as Hex } } }
    await expect(node.call({ to: at, gas: 2n ** 50n }, { ...loop, timeout: 20 })).rejects.toThrow(TimeoutError)
    await expect(node.call({ to: at, gas: 2n ** 50n }, { ...loop, signal: AbortSignal.abort('no') })).rejects.toBe('no')
  })

  it('simulated blocks follow one another', async () => {
    const [first, second] = await node.simulate({
      blocks: [
        {
          calls: [
            { from: owner, to: contract, data: set(5n) },
            { to: contract, data: GET },
          ],
        },
        { blockOverrides: { time: 2n ** 33n }, calls: [{ from: owner, to: contract, data: set(0n) }] },
      ],
    })
    expect(first?.calls.map(({ status }) => status)).toEqual(['success', 'success'])
    expect(first?.calls[0]?.logs).toMatchObject([{ address: contract.toLowerCase(), data: word(5), logIndex: 0 }])
    expect(first?.calls[1]).toMatchObject({ returnData: word(5), error: undefined })
    expect(second).toMatchObject({ number: node.height + 2n, timestamp: 2n ** 33n })
    expect(second?.calls[0]).toMatchObject({ status: 'failure', error: { code: 3, message: expect.stringContaining(REASON) } })
    expect(await node.call({ to: contract, data: GET })).toBe(word(42))
  })
})

describe('traces', () => {
  it('by hash, by place and of a call, each as debug_trace* has it', async () => {
    const frame = await node.trace(setBy, 'callTracer', { config: { withLog: true } })
    expect(frame).toEqual(
      await node.provider.request({
        method: 'debug_traceTransaction',
        params: [setBy, { tracer: 'callTracer', tracerConfig: { withLog: true } }],
      }),
    )
    expect(frame.logs).toHaveLength(1)
    expect(await node.trace({ block: 2n, index: 0 }, 'callTracer', { config: { withLog: true } })).toEqual(frame)
    const { hash } = await node.block(2n)
    expect(await node.trace({ block: hash as Hex }, 'callTracer', { config: { withLog: true } })).toEqual([
      { txHash: setBy, result: frame },
    ])
    const pretended = await node.trace({ from: owner, to: contract, data: set(0n) }, 'callTracer')
    expect(pretended).toMatchObject({ error: 'execution reverted', revertReason: REASON })
    const diff = await node.trace(setBy, 'prestateTracer', { config: { diffMode: true } })
    expect(diff.post[contract.toLowerCase() as Hex]?.storage).toEqual({ [word(0)]: word(42) })
    const both = await node.trace(setBy, 'muxTracer', { config: { callTracer: { onlyTopCall: true }, '4byteTracer': {} } })
    expect(both.callTracer.type).toBe('CALL')
    await expect(node.trace(`0x${'00'.repeat(32)}`, 'callTracer')).rejects.toThrow(NotFoundError)
    await expect(node.trace({ block: 2n, index: 9 }, 'callTracer')).rejects.toThrow(NotFoundError)
  })

  it('steps come one by one and equal the struct logger', async () => {
    const whole = (await node.provider.request({ method: 'debug_traceTransaction', params: [setBy, { enableMemory: true }] })) as {
      structLogs: object[]
    }
    const steps = node.trace(setBy, 'structLogs', { config: { enableMemory: true } })
    const seen: object[] = []
    for await (const step of steps) seen.push(step)
    expect(seen).toEqual(whole.structLogs)
    const { structLogs, ...summary } = whole as typeof whole & { gas: number }
    expect(await steps.summary).toEqual(summary)
    const early = node.trace(setBy, 'structLogs')
    for await (const { pc } of early) if (pc > 0) break
    await expect(early.summary).rejects.toThrow('left before their end')
    await expect(early.batches().next()).rejects.toThrow('once')
    await expect(
      node
        .trace(`0x${'00'.repeat(32)}`, 'structLogs')
        .batches()
        .next(),
    ).rejects.toThrow(NotFoundError)
  })

  it('millions of steps in constant memory', async () => {
    const at = `0x${'cc'.repeat(20)}` as const
    const steps = node.trace({ to: at, gas: 15_000_000n }, 'structLogs', {
      config: { disableStack: true },
      stateOverrides: { [at]: { code: LOOP as Hex } },
    })
    let count = 0
    let most = 0
    for await (const batch of steps.batches()) {
      count += batch.length
      most = Math.max(most, process.memoryUsage().rss)
      if (count > 200_000 && count < 220_000) most = 0
    }
    expect(count).toBeGreaterThan(4_000_000)
    const after = process.memoryUsage().rss
    expect(Math.abs(most - after)).toBeLessThan(200 * 2 ** 20)
    expect(await steps.summary).toMatchObject({ failed: true })
  })

  it('functions run in this process, with closures', async () => {
    const ops = new Map<string, number>()
    const result = await node.trace(setBy, {
      step(log) {
        ops.set(log.op.toString(), (ops.get(log.op.toString()) ?? 0) + 1)
      },
      result: (context) => ({ ops, gas: BigInt(context.gasUsed) }),
    })
    expect(result.ops).toBe(ops)
    expect(result.ops.get('SSTORE')).toBe(1)
    expect(result.gas).toBeGreaterThan(21_000n)
    const blocks = await node.trace({ block: 2n }, { result: (context) => context.gasUsed })
    expect(blocks).toMatchObject([{ txHash: setBy }])
    const cause = new Error('mine')
    const thrown = await node
      .trace(setBy, {
        step() {
          throw cause
        },
        result: () => 0,
      })
      .catch((e: unknown) => e)
    expect(thrown).toBeInstanceOf(TracerFunctionError)
    expect(thrown).toMatchObject({ hook: 'step', cause })
  })

  it('end by a signal or a timeout', async () => {
    const at = `0x${'dd'.repeat(20)}` as const
    const loop = { stateOverrides: { [at]: { code: LOOP as Hex } } }
    await expect(node.trace({ to: at, gas: 2n ** 50n }, 'callTracer', { ...loop, timeout: 50 })).rejects.toThrow()
    const control = new AbortController()
    setTimeout(() => control.abort('enough'), 50)
    await expect(node.trace({ to: at, gas: 2n ** 50n }, 'callTracer', { ...loop, signal: control.signal })).rejects.toBe('enough')
  })
})

describe('baking', () => {
  it('makes traces ahead of time, and says how far it is', async () => {
    const seen: number[] = []
    const report = await node.bake({ from: 1, to: 2n }, { onProgress: ({ done }) => seen.push(done) })
    expect(report).toMatchObject({ total: 2, failed: 0, finished: true })
    expect(report.baked + report.known).toBe(2)
    expect(seen.at(-1)).toBe(2)
    expect(await node.provider.request({ method: 'bake_blocks', params: [1, 2] })).toMatchObject({ known: 2 })
    const refused = async (params: unknown[]): Promise<unknown> =>
      await node.provider.request({ method: 'bake_blocks', params }).catch(({ name, code, message }) => [name, code, message])
    const badHeight = (index: number, name: string) => [
      'ProviderRpcError',
      -32602,
      `invalid argument ${index}: ${name}: a height is a whole number that is not negative`,
    ]
    expect(await refused([-1])).toEqual(badHeight(0, 'from'))
    expect(await refused([1, 'latest'])).toEqual(badHeight(1, 'to'))
    expect(await refused([1, 2, 3])).toEqual(['ProviderRpcError', -32602, 'too many arguments, want at most 2'])
  })
})

describe.skipIf(fixtures('mainnet-blocks') === undefined)('recorded blocks', () => {
  const file = path.join(FIXTURES, 'mainnet-blocks/1796867.json.gz')

  it('replay without a home', async () => {
    const results: unknown[] = []
    for await (const { trace, result, error } of node.replay(file, {
      traces: [{ tracer: 'callTracer' }, { tracer: 'noopTracer' }],
      tx: 0,
    })) {
      results.push([trace, error, (result as CallFrame).type])
    }
    expect(results).toEqual([
      [0, undefined, 'CALL'],
      [1, undefined, undefined],
    ])
    const missing = node.replay(`${file}.none`)[Symbol.asyncIterator]()
    await expect(missing.next()).rejects.toMatchObject({ name: 'HearthError', code: 'io' })
  })

  it('are homes too', async () => {
    const home = tempHome()
    try {
      expect(command(['import', '--home', home, '--case', file]).status).toBe(0)
      await using recorded = await openNode({ home })
      const [block] = await recorded.blocks({ full: true }).toArray()
      expect(block?.number).toBe(1_796_867n)
      const traces = await recorded.trace({ block: 'latest' }, 'callTracer')
      expect(traces.map(({ txHash }) => txHash)).toEqual(block?.transactions.map(({ hash }) => hash))
    } finally {
      fs.rmSync(home, { recursive: true, force: true })
    }
  })
})

describe('providers', () => {
  it('EIP-1193: results, errors with data, subscriptions', async () => {
    const { provider } = node
    expect(await provider.request({ method: 'net_version' })).toBe('31337')
    const failed = await provider
      .request({ method: 'eth_call', params: [{ to: contract, data: set(0n) }, 'latest'] })
      .catch((e: unknown) => e)
    expect(failed).toBeInstanceOf(ProviderRpcError)
    expect(failed).toMatchObject({ code: 3, data: expect.stringMatching(/^0x08c379a0/) })
    await expect(provider.request({ method: 'eth_nothing' })).rejects.toMatchObject({ code: -32601 })
    await expect(provider.request({ method: 'eth_getBalance', params: [] })).rejects.toMatchObject({ code: -32602 })
    const messages: ProviderMessage[] = []
    const listener = (message: ProviderMessage): void => {
      messages.push(message)
    }
    provider.on('message', listener)
    const id = await provider.request({ method: 'eth_subscribe', params: ['newHeads'] })
    await provider.request({ method: 'eth_sendTransaction', params: [{ from: owner, to: owner, value: '0x1' }] })
    await expect.poll(() => messages).toHaveLength(1)
    const number = `0x${node.height.toString(16)}`
    expect(messages[0]).toMatchObject({ type: 'eth_subscription', data: { subscription: id, result: { number } } })
    expect(await provider.request({ method: 'eth_unsubscribe', params: [id] })).toBe(true)
    await provider.request({ method: 'eth_sendTransaction', params: [{ from: owner, to: owner, value: '0x1' }] })
    provider.removeListener('message', listener)
    expect(messages).toHaveLength(1)
  })

  it('viem: actions, typed debug methods, traces, also over HTTP', async () => {
    const client = createPublicClient({ chain: hardhat, transport: hearth(node), rpcSchema: rpcSchema<HearthRpcSchema>() }).extend(
      traceActions,
    )
    expect(await client.getBalance({ address: contract })).toBe(0n)
    expect(await client.readContract({ address: contract, abi: ABI, functionName: 'get' })).toBe(42n)
    expect((await client.getTransactionReceipt({ hash: setBy })).logs).toHaveLength(1)
    const account = privateKeyToAccount(node.accounts[1]?.privateKey as Hex)
    const wallet = createWalletClient({ account, chain: hardhat, transport: hearth(node) })
    const hash = await wallet.sendTransaction({ to: contract, data: set(9n), value: parseEther('0') })
    expect((await client.waitForTransactionReceipt({ hash })).status).toBe('success')
    const frame = await client.traceTransaction(hash, 'callTracer', { config: { withLog: true } })
    expect(frame.logs?.[0]?.data).toBe(word(9))
    expect(
      await client.request({ method: 'debug_traceTransaction', params: [hash, { tracer: 'callTracer', tracerConfig: { withLog: true } }] }),
    ).toEqual(frame)
    expect((await client.traceCall({ to: contract, data: set(0n) }, 'callTracer')).revertReason).toBe(REASON)
    const { url, wsUrl, stop } = await node.listen({ port: 0 })
    const remote = createPublicClient({ chain: hardhat, transport: http(url) }).extend(traceActions)
    // WebSocket is on the same port.
    const socket = createPublicClient({ chain: hardhat, transport: webSocket(wsUrl) })
    expect([wsUrl, await socket.getBlockNumber()]).toEqual([url.replace('http:', 'ws:'), await client.getBlockNumber()])
    expect(await remote.traceBlock(await client.getBlockNumber(), 'callTracer', { config: { withLog: true } })).toEqual([
      { txHash: hash, result: frame },
    ])
    await stop()
  })

  it('ethers: the provider and its signers', async () => {
    const provider = new HearthProvider(node)
    expect((await provider.getNetwork()).chainId).toBe(31337n)
    expect(await provider.call({ to: contract, data: GET })).toBe(word(9))
    const signer = await provider.getSigner(owner)
    const sent = await signer.sendTransaction({ to: contract, data: set(11n) })
    expect((await sent.wait())?.status).toBe(1)
    expect(await provider.getBlockNumber()).toBe(Number(node.height))
    await expect(provider.call({ to: contract, data: set(0n) })).rejects.toMatchObject({ code: 'CALL_EXCEPTION', reason: REASON })
    provider.destroy()
  })
})

it('a development chain has the accounts of its settings', async () => {
  const mnemonic = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
  const own = await createDevNode({ settings: { 'dev.mnemonic': mnemonic, 'dev.accounts': '3' } })
  try {
    expect(own.accounts.map(({ address }) => address)).toEqual(
      [0, 1, 2].map((addressIndex) => mnemonicToAccount(mnemonic, { addressIndex }).address),
    )
    const [from, to] = own.accounts.map(({ address }) => address)
    expect(await own.provider.request({ method: 'eth_sendTransaction', params: [{ from, to, value: '0x1' }] })).toMatch(/^0x[0-9a-f]{64}$/)
    expect(own.height).toBe(1n)
  } finally {
    await own.close()
  }
  await expect(createDevNode({ settings: { 'dev.fork_url': 'http://127.0.0.1:1' } })).rejects.toThrow('createDevNode makes no forks')
})

it('a node that closes leaves no listener, and bakes nothing', async () => {
  const own = await createDevNode({ settings: { 'evm.trace_bake_enabled': true } })
  const gone = AbortSignal.abort(new Error('not wanted'))
  await expect(own.bake({}, { signal: gone })).rejects.toThrow('not wanted')
  const refused = expect(own.listen({ port: 0 })).rejects.toMatchObject({ name: 'ClosedError' })
  await own.close()
  await refused
})

it('blocks are followed as they come', async () => {
  const control = new AbortController()
  const seen: bigint[] = []
  const from = node.height
  const follow = async (): Promise<void> => {
    for await (const block of node.blocks({ from, follow: true, full: true, signal: control.signal })) {
      seen.push(block.number)
      if (seen.length === 4) control.abort('done')
    }
  }
  // Expected before the blocks are made: the last one ends it while its request is under way.
  const ended = expect(follow()).rejects.toBe('done')
  for (let i = 0; i < 3; i++)
    await node.provider.request({ method: 'eth_sendTransaction', params: [{ from: owner, to: owner, value: '0x1' }] })
  await ended
  expect(seen).toEqual([from, from + 1n, from + 2n, from + 3n])
  expect(deployed).toMatch(/^0x/)
})
