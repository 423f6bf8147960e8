// viem's public and wallet clients against `hearth dev`, and its public client against
// `hearth start` on the same home.
import fs from 'node:fs'
import { createWalletClient, type Hex, http, keccak256, recoverMessageAddress, recoverTypedDataAddress, verifyMessage } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { hardhat } from 'viem/chains'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ABI, DEPLOY } from './contract.ts'
import { type RunningNode, startNode, tempHome } from './harness.ts'
import { httpClient, READS, type Site, wsClient } from './viem-actions.ts'
import { until } from './waiting.ts'

const home = tempHome()
const owner = mnemonicToAccount('test test test test test test test test test test test junk').address
/** An account that `hearth start` has no key of. */
const stranger = mnemonicToAccount('test test test test test test test test test test test junk', { addressIndex: 2 })
const other: Hex = '0x00000000000000000000000000000000000000aa'
let node: RunningNode
let site: Site

/** A wallet whose keys are the node's. */
const wallet = () => createWalletClient({ account: owner, chain: hardhat, transport: http(node.url) })

afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

describe('viem against hearth dev', () => {
  beforeAll(async () => {
    node = await startNode(['dev', '--home', home])
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
  })

  it('wallet: addresses, messages, typed data, signed transactions', async () => {
    const client = wallet()
    expect((await client.getAddresses())[0]).toBe(owner)
    expect((await client.requestAddresses()).length).toBe(10)
    const signature = await client.signMessage({ message: 'hello' })
    expect(await verifyMessage({ address: owner, message: 'hello', signature })).toBe(true)
    const domain = { name: 'hearth', chainId: 31_337 } as const
    const types = {
      Mail: [
        { name: 'to', type: 'address' },
        { name: 'text', type: 'string' },
      ],
    } as const
    const typed = { domain, types, primaryType: 'Mail', message: { to: other, text: 'hello' } } as const
    expect(await recoverTypedDataAddress({ ...typed, signature: await client.signTypedData(typed) })).toBe(owner)
    const personal = await client.request({ method: 'personal_sign', params: ['0x1234', owner] })
    expect(await recoverMessageAddress({ message: { raw: '0x1234' }, signature: personal })).toBe(owner)
    const { raw, tx } = (await client.request({
      method: 'eth_signTransaction',
      params: [{ from: owner, to: other, value: '0x1' }],
    } as never)) as { raw: Hex; tx: { hash: Hex } }
    expect(keccak256(raw)).toBe(tx.hash)
  })

  it('wallet: deploys, writes, sends, waits', async () => {
    const [client, reader] = [wallet(), httpClient(node.url)]
    const deployed = await reader.waitForTransactionReceipt({ hash: await client.deployContract({ abi: ABI, bytecode: DEPLOY }) })
    const address = deployed.contractAddress as Hex
    expect((await client.sendTransactionSync({ to: other, value: 3n })).status).toBe('success')
    expect(await reader.getBalance({ address: other })).toBe(3n)
    const raw = await mnemonicToAccount('test test test test test test test test test test test junk', { addressIndex: 1 }).signTransaction(
      {
        chainId: 31_337,
        to: other,
        value: 4n,
        gas: 21_000n,
        maxFeePerGas: 10n ** 10n,
        nonce: 0,
      },
    )
    expect((await reader.sendRawTransactionSync({ serializedTransaction: raw })).status).toBe('success')
    const setBy = await client.writeContract({ address, abi: ABI, functionName: 'set', args: [42n] })
    const receipt = await reader.waitForTransactionReceipt({ hash: setBy })
    site = { address, owner, deployedIn: deployed.blockNumber, setBy, setIn: receipt.blockNumber }
    await expect(client.sendTransaction({ account: other, to: owner, value: 0n, gas: 21_000n })).rejects.toThrow(/unknown account/)
  })

  it.each(READS)('public: %s', async (_, run, want) => {
    expect(await run(httpClient(node.url), site)).toEqual(want(site))
  })

  it.each(['http', 'websocket'])('filters and watchers over %s', async (transport) => {
    const reader = transport === 'http' ? httpClient(node.url) : wsClient(node.ws)
    const heads: (bigint | null)[] = []
    const numbers: bigint[] = []
    const values: (bigint | undefined)[] = []
    const pending: Hex[] = []
    const contract = { address: site.address, abi: ABI } as const
    const stops = [
      reader.watchBlocks({ onBlock: (block) => heads.push(block.number) }),
      reader.watchBlockNumber({ onBlockNumber: (number) => numbers.push(number) }),
      reader.watchContractEvent({ ...contract, eventName: 'Set', onLogs: (logs) => values.push(...logs.map((log) => log.args.value)) }),
      reader.watchEvent({ address: site.address, onLogs: () => undefined }),
      reader.watchPendingTransactions({ onTransactions: (hashes) => pending.push(...hashes) }),
    ]
    const write = (value: bigint): Promise<Hex> => wallet().writeContract({ ...contract, functionName: 'set', args: [value] })
    // Watchers start asynchronously: each has started once it has seen a first block, and is
    // complete once it has seen the last.
    let firsts = 1000n
    await until('the watchers to begin', async () => {
      await write(firsts++)
      return heads.length > 0 && numbers.length > 0 && values.length > 0 && pending.length > 0
    })
    const last = await write(firsts)
    const top = await reader.getBlockNumber({ cacheTime: 0 })
    await until(
      'the last of the first',
      () => values.includes(firsts) && pending.includes(last) && [heads, numbers].every((seen) => seen.includes(top)),
    )
    for (const seen of [heads, numbers, values, pending]) seen.length = 0
    const filters = {
      block: await reader.createBlockFilter(),
      event: await reader.createContractEventFilter({ ...contract, eventName: 'Set' }),
      all: await reader.createEventFilter({ address: site.address, fromBlock: 0n }),
      pending: await reader.createPendingTransactionFilter(),
    }
    const before = await reader.getBlockNumber({ cacheTime: 0 })
    const hashes: Hex[] = []
    for (const value of [7n, 8n]) {
      hashes.push(await write(value))
    }
    await until('both blocks', () => values.length === 2 && heads.includes(before + 2n) && pending.length === 2)
    expect(values).toEqual([7n, 8n])
    expect(pending).toEqual(hashes)
    await until('the number', () => numbers.includes(before + 2n))
    if (transport === 'websocket') expect(heads).toEqual([before + 1n, before + 2n])
    expect((await reader.getFilterChanges({ filter: filters.block })).length).toBe(2)
    expect((await reader.getFilterChanges({ filter: filters.event })).map((log) => log.args.value)).toEqual([7n, 8n])
    expect(await reader.getFilterChanges({ filter: filters.event })).toEqual([])
    expect((await reader.getFilterLogs({ filter: filters.all })).length).toBeGreaterThanOrEqual(3)
    expect(await reader.getFilterChanges({ filter: filters.pending })).toEqual(hashes)
    for (const filter of Object.values(filters)) expect(await reader.uninstallFilter({ filter })).toBe(true)
    expect(await reader.uninstallFilter({ filter: filters.block })).toBe(false)
    for (const stop of stops) stop()
    await write(42n)
    if (transport === 'websocket')
      (await (reader.transport as unknown as { getRpcClient(): Promise<{ close(): void }> }).getRpcClient()).close()
  })
})

describe('viem against hearth start', () => {
  beforeAll(async () => {
    node = await startNode(['start', '--home', home])
    // The chain has grown since: the last `set(42)` is what the actions expect.
    const reader = httpClient(node.url)
    const head = await reader.getBlock()
    site = { ...site, setBy: head.transactions[0] as Hex, setIn: head.number }
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
  })

  it.each(READS.filter(([name]) => name !== 'getLogs' && name !== 'getContractEvents'))('public: %s', async (_, run, want) => {
    expect(await run(httpClient(node.url), site)).toEqual(want(site))
  })

  it('wallet: has no accounts, sends nothing without blocks', async () => {
    const client = wallet()
    expect(await client.getAddresses()).toEqual([])
    await expect(client.sendTransaction({ to: other, value: 1n, gas: 21_000n })).rejects.toThrow(/unknown account/)
    await expect(client.signTypedData({ domain: {}, types: { A: [] }, primaryType: 'A', message: {} })).rejects.toThrow(/unknown account/)
    await expect(client.signMessage({ message: 'x' })).rejects.toThrow(/personal_sign does not exist/)
    const signer = createWalletClient({ account: stranger, chain: hardhat, transport: http(node.url) })
    await expect(signer.sendTransaction({ to: other, value: 5n })).rejects.toThrow(/this node makes no blocks/)
  })
})

describe('viem against a chain that waits with its blocks', () => {
  beforeAll(async () => {
    node = await startNode(['dev', '--no-mining'])
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
  })

  it('shows signed transactions as pending', async () => {
    const reader = httpClient(node.url)
    const before = await reader.getBalance({ address: other })
    const signer = createWalletClient({ account: stranger, chain: hardhat, transport: http(node.url) })
    const filter = await reader.createPendingTransactionFilter()
    const hash = await signer.sendTransaction({ to: other, value: 5n })
    expect(await reader.getFilterChanges({ filter })).toEqual([hash])
    expect((await reader.getTransaction({ hash })).blockNumber).toBeNull()
    expect((await reader.getBlock({ blockTag: 'pending' })).transactions).toEqual([hash])
    expect(await reader.getBalance({ address: other, blockTag: 'pending' })).toBe(before + 5n)
    expect(await reader.getBalance({ address: other })).toBe(before)
    expect(await reader.getTransactionCount({ address: stranger.address, blockTag: 'pending' })).toBe(1)
    expect(await reader.getTransactionCount({ address: stranger.address })).toBe(0)
    expect(await reader.getBlockTransactionCount({ blockTag: 'pending' })).toBe(1)
  })
})
