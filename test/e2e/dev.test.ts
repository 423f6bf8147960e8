// A development chain as a viem user sees it: deploy, call, revert with reason, logs, trace; over
// HTTP and WebSocket.
import fs from 'node:fs'
import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createTestClient,
  createWalletClient,
  decodeEventLog,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  http,
  parseEther,
  publicActions,
  webSocket,
} from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ABI, DEPLOY, REASON } from './contract.ts'
import { type RunningNode, rpc, startNode, tempHome } from './harness.ts'

const home = tempHome()
const account = mnemonicToAccount('test test test test test test test test test test test junk')
let node: RunningNode

beforeAll(async () => {
  node = await startNode(['dev', '--home', home])
})
afterAll(async () => {
  expect(await node.stop()).toBe(0)
  fs.rmSync(home, { recursive: true, force: true })
})

const clients = () => {
  const transport = http(node.url)
  return {
    wallet: createWalletClient({ account, chain: hardhat, transport }),
    reader: createPublicClient({ chain: hardhat, transport, pollingInterval: 50 }),
  }
}

describe('a development chain', () => {
  it('prints its accounts and url', () => {
    expect(node.log()).toContain(account.address)
    expect(node.log()).toContain('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
    expect(node.log()).toContain(node.url)
  })

  it('begins with chain id 31337 and funded accounts', async () => {
    const { reader } = clients()
    expect(await reader.getChainId()).toBe(31_337)
    expect(await reader.getBalance({ address: account.address })).toBe(parseEther('10000'))
    expect((await rpc(node.url, 'web3_clientVersion')).result).toMatch(/^anvil\/v\d+\.\d+\.\d+-hearth\/\w+-\w+\/node\d+\.\d+\.\d+$/)
    expect((await rpc(node.url, 'net_version')).result).toBe('31337')
  })

  it('deploys, calls, reverts with reason, logs and traces', async () => {
    const { wallet, reader } = clients()
    const deployed = await reader.waitForTransactionReceipt({ hash: await wallet.sendTransaction({ data: DEPLOY }) })
    expect(deployed.status).toBe('success')
    const address = deployed.contractAddress as Hex
    expect(address.toLowerCase()).toBe(getContractAddress({ from: account.address, nonce: 0n }).toLowerCase())
    expect(await reader.getCode({ address })).toBe(`0x${DEPLOY.slice(2 + 24)}`)

    const hash = await wallet.writeContract({ address, abi: ABI, functionName: 'set', args: [42n] })
    const receipt = await reader.waitForTransactionReceipt({ hash })
    expect([receipt.status, receipt.blockNumber, receipt.transactionIndex]).toEqual(['success', deployed.blockNumber + 1n, 0])
    expect(await reader.readContract({ address, abi: ABI, functionName: 'get' })).toBe(42n)
    expect(await reader.readContract({ address, abi: ABI, functionName: 'get', blockNumber: deployed.blockNumber })).toBe(0n)

    const logs = await reader.getLogs({ address, event: ABI[2], fromBlock: 0n })
    expect(logs.map((log) => [log.args.value, log.transactionHash, log.logIndex])).toEqual([[42n, hash, 0]])
    expect(decodeEventLog({ abi: ABI, ...(receipt.logs[0] as (typeof receipt.logs)[0]) }).args).toEqual({ value: 42n })

    const refused = await reader.simulateContract({ address, abi: ABI, functionName: 'set', args: [0n], account }).catch((e: unknown) => e)
    expect(refused).toBeInstanceOf(BaseError)
    const reverted = (refused as BaseError).walk((e) => e instanceof ContractFunctionRevertedError) as ContractFunctionRevertedError
    expect(reverted.reason).toBe(REASON)
    const data = encodeFunctionData({ abi: ABI, functionName: 'set', args: [0n] })
    const raw = await rpc(node.url, 'eth_call', [{ to: address, data }, 'latest'])
    expect(raw.error).toMatchObject({ code: 3, message: `execution reverted: ${REASON}` })
    expect(raw.error?.data).toMatch(/^0x08c379a0/)

    const trace = (await rpc(node.url, 'debug_traceTransaction', [hash, { tracer: 'callTracer', tracerConfig: { withLog: true } }])).result
    expect(trace).toMatchObject({
      type: 'CALL',
      from: account.address.toLowerCase(),
      to: address.toLowerCase(),
      gasUsed: `0x${receipt.gasUsed.toString(16)}`,
      logs: [{ address: address.toLowerCase(), position: '0x0' }],
    })
    const block = (await rpc(node.url, 'debug_traceBlockByHash', [receipt.blockHash, { tracer: 'callTracer' }])).result
    expect(block).toMatchObject([{ txHash: hash, result: { type: 'CALL', to: address.toLowerCase() } }])
  })

  it('keeps a transaction that reverts, and traces it', async () => {
    const { wallet, reader } = clients()
    const deployed = await reader.waitForTransactionReceipt({ hash: await wallet.sendTransaction({ data: DEPLOY }) })
    const data = encodeFunctionData({ abi: ABI, functionName: 'set', args: [0n] })
    const hash = await wallet.sendTransaction({ to: deployed.contractAddress as Hex, data, gas: 100_000n })
    expect((await reader.waitForTransactionReceipt({ hash })).status).toBe('reverted')
    const trace = (await rpc(node.url, 'debug_traceTransaction', [hash, { tracer: 'callTracer' }])).result
    expect(trace).toMatchObject({ error: 'execution reverted', revertReason: REASON })
  })

  it('takes transactions of types 0, 1, 2, 4; refuses bad nonces', async () => {
    const { wallet, reader } = clients()
    const to = '0x00000000000000000000000000000000000000aa'
    const authorization = await wallet.signAuthorization({ contractAddress: to, executor: 'self' })
    const kinds = [
      { type: 'legacy', gasPrice: 10n ** 10n },
      { type: 'eip2930', gasPrice: 10n ** 10n, accessList: [{ address: to as Hex, storageKeys: [] }] },
      { type: 'eip1559' },
      { type: 'eip7702', authorizationList: [authorization] },
    ] as const
    for (const kind of kinds) {
      const receipt = await reader.waitForTransactionReceipt({ hash: await wallet.sendTransaction({ to, value: 1n, ...kind } as never) })
      expect([receipt.status, receipt.type]).toEqual(['success', kind.type])
    }
    expect(await reader.getBalance({ address: to })).toBe(4n)
    await expect(wallet.sendTransaction({ to, nonce: 0 })).rejects.toThrow(/nonce too low/i)
  })

  it('serves the same over WebSocket, on both ports', async () => {
    for (const url of [node.ws, node.url.replace('http', 'ws')]) {
      const client = createTestClient({ mode: 'hardhat', chain: hardhat, transport: webSocket(url) }).extend(publicActions)
      expect(await client.getChainId()).toBe(31_337)
      expect(await client.getBlockNumber()).toBeGreaterThan(0n)
      ;(await client.transport.getRpcClient()).close()
    }
  })

  it('answers bad input as go-ethereum does', async () => {
    const zero = `0x${'00'.repeat(32)}`
    const tracer = { tracer: 'callTracer' }
    const error = async (method: string, ...params: unknown[]) => (await rpc(node.url, method, params)).error
    expect(await error('debug_traceTransaction', zero, tracer)).toEqual({ code: -32000, message: 'transaction not found' })
    expect(await error('debug_traceBlockByNumber', '0x0', tracer)).toEqual({ code: -32000, message: 'genesis is not traceable' })
    expect(await error('debug_traceBlockByNumber', '0xffffff', tracer)).toMatchObject({
      code: -32000,
      message: expect.stringContaining('not found'),
    })
    expect(await error('debug_traceBlockByHash', zero, tracer)).toMatchObject({
      code: -32000,
      message: expect.stringContaining('not found'),
    })
    expect(await error('debug_traceTransaction')).toEqual({ code: -32602, message: 'missing value for required argument 0' })
    expect(await error('debug_traceTransaction', '0x12')).toEqual({
      code: -32602,
      message: 'invalid argument 0: hash: hex string has length 2, want 64',
    })
    expect(await error('eth_sendRawTransaction', '0x')).toMatchObject({ code: -32000 })
    expect(await error('eth_sendRawTransaction', '0xf8')).toMatchObject({ code: -32000 })
    expect(await error('debug_traceTransactionExcludeTraceFail', zero)).toMatchObject({ code: -32601 })
    expect((await rpc(node.url, 'eth_getTransactionByHash', [zero])).result).toBeNull()
    expect((await rpc(node.url, 'eth_getBlockByNumber', ['0xffffff', false])).result).toBeNull()
  })
})

describe('a stopped development chain', () => {
  it('goes on where it was, and its home is its own', async () => {
    const own = tempHome()
    const first = await startNode(['dev', '--home', own])
    const wallet = createWalletClient({ account, chain: hardhat, transport: http(first.url) })
    const hash = await wallet.sendTransaction({ to: account.address, value: 1n })
    await expect(startNode(['dev', '--home', own])).rejects.toThrow(/in use|lock/i)
    expect(await first.stop('SIGINT')).toBe(0)
    const second = await startNode(['dev', '--home', own])
    expect((await rpc(second.url, 'eth_blockNumber')).result).toBe('0x1')
    expect((await rpc(second.url, 'eth_getTransactionReceipt', [hash])).result).toMatchObject({ status: '0x1', blockNumber: '0x1' })
    expect(await second.stop()).toBe(0)
    fs.rmSync(own, { recursive: true, force: true })
  })
})
