// ethers 6 against `hearth dev` and `hearth start`: providers, signers of the node, contracts,
// events.
import fs from 'node:fs'
import {
  Contract,
  ContractFactory,
  HDNodeWallet,
  JsonRpcProvider,
  NonceManager,
  parseEther,
  verifyMessage,
  verifyTypedData,
  WebSocketProvider,
} from 'ethers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEPLOY, REASON } from './contract.ts'
import { type RunningNode, rpc, startNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const ABI = ['function set(uint256 value)', 'function get() view returns (uint256)', 'event Set(uint256 value)']
const PHRASE = 'test test test test test test test test test test test junk'
const OTHER = '0x00000000000000000000000000000000000000aa'
const home = tempHome()
let node: RunningNode
let address: string
/** Events of the contract so far. */
let sets = 0

const provider = (): JsonRpcProvider => new JsonRpcProvider(node.url, 31_337, { staticNetwork: true, polling: true, cacheTimeout: -1 })

afterAll(() => fs.rmSync(home, { recursive: true, force: true }))

describe('ethers against hearth dev', () => {
  beforeAll(async () => {
    node = await startNode(['dev', '--home', home])
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
  })

  it('signs with the accounts of the node', async () => {
    const p = provider()
    const accounts = await p.listAccounts()
    expect(accounts.length).toBe(10)
    const signer = await p.getSigner(0)
    expect(await signer.getAddress()).toBe(HDNodeWallet.fromPhrase(PHRASE).address)
    expect(verifyMessage('hello', await signer.signMessage('hello'))).toBe(signer.address)
    const types = { Mail: [{ name: 'text', type: 'string' }] }
    const domain = { name: 'hearth', chainId: 31_337 }
    expect(verifyTypedData(domain, types, { text: 'hi' }, await signer.signTypedData(domain, types, { text: 'hi' }))).toBe(signer.address)
    const sent = await signer.sendTransaction({ to: OTHER, value: 9n })
    expect((await sent.wait())?.status).toBe(1)
    expect(await p.getBalance(OTHER)).toBe(9n)
    p.destroy()
  })

  it('deploys, calls, reads events and reverts', async () => {
    const p = provider()
    const signer = new NonceManager(HDNodeWallet.fromPhrase(PHRASE).connect(p))
    const deployed = await new ContractFactory(ABI, DEPLOY, signer).deploy()
    await deployed.waitForDeployment()
    address = await deployed.getAddress()
    const contract = new Contract(address, ABI, signer)
    await (await contract.getFunction('set').send(42n)).wait()
    sets++
    expect(await contract.getFunction('get').staticCall()).toBe(42n)
    expect((await contract.queryFilter('Set', 0)).map((log) => ('args' in log ? log.args[0] : undefined))).toEqual([42n])
    await expect(contract.getFunction('set').staticCall(0n)).rejects.toThrow(REASON)
    await expect(contract.getFunction('set').estimateGas(0n)).rejects.toMatchObject({ code: 'CALL_EXCEPTION', reason: REASON })
    p.destroy()
  })

  it('answers what a provider asks', async () => {
    const p = provider()
    const head = await p.getBlockNumber()
    const block = await p.getBlock(head, true)
    const hash = block?.prefetchedTransactions[0]?.hash as string
    expect((await p.getTransaction(hash))?.blockNumber).toBe(head)
    expect((await p.getTransactionReceipt(hash))?.logs.length).toBe(1)
    expect((await p.getFeeData()).maxFeePerGas).toBeGreaterThan(0n)
    expect(await p.getCode(address)).toBe(`0x${DEPLOY.slice(2 + 24)}`)
    expect(await p.getStorage(address, 0)).toBe(`0x${(42).toString(16).padStart(64, '0')}`)
    expect(await p.getTransactionCount(HDNodeWallet.fromPhrase(PHRASE).address, 'pending')).toBeGreaterThan(0)
    expect((await p.getNetwork()).chainId).toBe(31_337n)
    expect(await p.estimateGas({ from: OTHER, to: OTHER })).toBe(21_000n)
    expect((await p.getLogs({ address, fromBlock: 0 })).length).toBe(1)
    expect((await p.waitForTransaction(hash))?.hash).toBe(hash)
    expect(await p.getBalance(HDNodeWallet.fromPhrase(PHRASE).address)).toBeGreaterThan(parseEther('9999'))
    p.destroy()
  })

  it('receives blocks, pending transactions, logs by WebSocket', async () => {
    const ws = new WebSocketProvider(node.ws, 31_337)
    const heard = { blocks: [] as number[], logs: [] as bigint[], pending: [] as string[] }
    await ws.on('block', (number: number) => heard.blocks.push(number))
    await ws.on('pending', (hash: string) => heard.pending.push(hash))
    await new Contract(address, ABI, ws).on('Set', (value: bigint) => heard.logs.push(value))
    const signer = new NonceManager(HDNodeWallet.fromPhrase(PHRASE).connect(ws))
    const contract = new Contract(address, ABI, signer)
    const set = async (value: bigint): Promise<string> => (await contract.getFunction('set').send(value)).hash
    // Subscriptions start asynchronously: each has started once it has seen a first block, and is
    // complete once it has seen the last.
    let firsts = 1000n
    await until('the subscriptions to begin', async () => {
      await set(firsts++)
      return heard.blocks.length > 0 && heard.logs.length > 0 && heard.pending.length > 0
    })
    const last = await set(firsts)
    sets += Number(firsts - 1000n) + 1
    const before = Number((await rpc(node.url, 'eth_blockNumber')).result)
    await until('the last of the first', () => heard.logs.includes(firsts) && heard.blocks.includes(before) && heard.pending.includes(last))
    for (const list of Object.values(heard)) list.length = 0
    const hashes: string[] = []
    for (const value of [1n, 2n, 3n]) hashes.push(await set(value))
    sets += 3
    await until('three of each', () => Object.values(heard).every((list) => list.length >= 3))
    expect(heard.blocks).toEqual([before + 1, before + 2, before + 3])
    expect(heard.logs).toEqual([1n, 2n, 3n])
    expect(heard.pending).toEqual(hashes)
    await ws.destroy()
  })
})

describe('ethers against hearth start', () => {
  beforeAll(async () => {
    node = await startNode(['start', '--home', home])
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
  })

  it('reads, and has no signer', async () => {
    const p = provider()
    expect(await new Contract(address, ABI, p).getFunction('get').staticCall()).toBe(3n)
    expect((await p.getLogs({ address, fromBlock: 0 })).length).toBe(sets)
    expect(await p.listAccounts()).toEqual([])
    await expect(p.getSigner(0)).rejects.toThrow('no such account')
    await expect(p.send('eth_sendTransaction', [{ from: OTHER, to: OTHER }])).rejects.toThrow(/unknown account/)
    p.destroy()
  })

  it('sends nothing, for the node makes no blocks', async () => {
    const p = provider()
    const wallet = HDNodeWallet.fromPhrase(PHRASE).connect(p)
    await expect(wallet.sendTransaction({ to: OTHER, value: 1n })).rejects.toThrow(/this node makes no blocks/)
    expect(await p.getTransactionCount(wallet.address, 'pending')).toBe(await p.getTransactionCount(wallet.address))
    p.destroy()
  })
})

describe('ethers against a chain that waits with its blocks', () => {
  beforeAll(async () => {
    node = await startNode(['dev', '--no-mining'])
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
  })

  it('sends what is signed elsewhere, and finds it pending', async () => {
    const p = provider()
    const wallet = HDNodeWallet.fromPhrase(PHRASE).connect(p)
    const sent = await wallet.sendTransaction({ to: OTHER, value: 1n })
    const found = await p.getTransaction(sent.hash)
    expect([found?.blockNumber, found?.nonce]).toEqual([null, sent.nonce])
    expect(await p.getTransactionCount(wallet.address, 'pending')).toBe(sent.nonce + 1)
    expect(await p.getTransactionCount(wallet.address)).toBe(sent.nonce)
    p.destroy()
  })
})
