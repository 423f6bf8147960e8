// ethers 6 on a development chain: signers of the node, failures with their reasons, snapshots. The
// same runs on anvil, which proves the tests.
import { Contract, ContractFactory, Interface, isCallException, JsonRpcProvider, JsonRpcSigner, parseEther } from 'ethers'
import { afterAll, describe, expect } from 'vitest'
import { DEPLOY, REASON } from './contract.ts'
import { type DevNode, startNamed } from './dev-node.ts'
import { nodesBeside, testsOn } from './peer.ts'

const ABI = ['function set(uint256 value)', 'function get() view returns (uint256)', 'event Set(uint256 value)']
const OTHER = '0x00000000000000000000000000000000000000ab'

/**
 * Code that reverts with its call data: CALLDATASIZE PUSH1 0 PUSH1 0 CALLDATACOPY CALLDATASIZE
 * PUSH1 0 REVERT.
 */
const MIRROR = '0x366000600037366000fd'
const MIRROR_AT = '0x00000000000000000000000000000000000000ac'
/** Calls whose data are the failure to return. */
const FAILURES = new Interface([
  'function Error(string)',
  'function Panic(uint256)',
  'function TooMuch(uint256 asked, uint256 most)',
  'error TooMuch(uint256 asked, uint256 most)',
])

describe.each(nodesBeside('anvil', 'ethers'))('ethers on %s', (name) => {
  const { before, test } = testsOn(name)
  let node: DevNode
  let provider: JsonRpcProvider
  let signer: JsonRpcSigner
  let contract: Contract

  /** What a call of the mirror fails with. */
  const failure = async (call: string, args: unknown[]): Promise<unknown> => {
    const mirror = new Contract(MIRROR_AT, FAILURES, signer)
    return mirror
      .getFunction(call)
      .staticCall(...args)
      .then(
        () => undefined,
        (e: unknown) => e,
      )
  }

  before(async () => {
    node = await startNamed(name)
    provider = new JsonRpcProvider(node.url, 31_337, { staticNetwork: true, cacheTimeout: -1, pollingInterval: 50 })
    signer = await provider.getSigner(0)
    await provider.send('anvil_setCode', [MIRROR_AT, MIRROR])
  })
  afterAll(async () => {
    provider?.destroy()
    await node?.stop()
  })

  test('JsonRpcSigner deploys, writes, sends and waits', async () => {
    const deployed = await new ContractFactory(ABI, DEPLOY, signer).deploy()
    await deployed.waitForDeployment()
    contract = new Contract(await deployed.getAddress(), ABI, signer)
    const sent = await contract.getFunction('set').send(42n)
    const receipt = await sent.wait()
    expect([receipt?.status, receipt?.logs.length]).toEqual([1, 1])
    expect(await contract.getFunction('get').staticCall()).toBe(42n)
    const paid = await (await signer.sendTransaction({ to: OTHER, value: 9n })).wait()
    expect([paid?.status, paid?.gasUsed]).toEqual([1, 21_000n])
    expect(await provider.getBalance(OTHER)).toBe(9n)
    const unchecked = await signer.sendUncheckedTransaction({ to: OTHER, value: 1n })
    expect((await provider.waitForTransaction(unchecked, 1, 10_000))?.status).toBe(1)
  })

  test('a failure before sending is a CALL_EXCEPTION with its reason', async () => {
    const failed = await contract
      .getFunction('set')
      .send(0n)
      .then(
        () => undefined,
        (e: unknown) => e,
      )
    expect(failed).toMatchObject({
      code: 'CALL_EXCEPTION',
      action: 'estimateGas',
      reason: REASON,
      revert: { name: 'Error', args: [REASON] },
    })
    await expect(contract.getFunction('set').staticCall(0n)).rejects.toMatchObject({
      code: 'CALL_EXCEPTION',
      action: 'call',
      reason: REASON,
    })
    await expect(provider.estimateGas({ to: MIRROR_AT, data: '0x' })).rejects.toMatchObject({ code: 'CALL_EXCEPTION' })
  })

  test('reasons, panics and errors of the contract are decoded', async () => {
    expect(await failure('Error', ['in words'])).toMatchObject({ code: 'CALL_EXCEPTION', reason: 'in words' })
    expect(await failure('Panic', [0x11n])).toMatchObject({ code: 'CALL_EXCEPTION', reason: 'Panic due to OVERFLOW(17)' })
    const custom = await failure('TooMuch', [101n, 100n])
    if (!isCallException(custom as Error)) throw custom
    expect(custom).toMatchObject({ revert: { name: 'TooMuch', args: [101n, 100n] } })
  })

  test('a given gas limit mines a revert; the wait gets its receipt', async () => {
    const before = await provider.getBlockNumber()
    const sent = await contract.getFunction('set').send(0n, { gasLimit: 100_000n })
    await expect(sent.wait()).rejects.toMatchObject({ code: 'CALL_EXCEPTION', receipt: { status: 0, blockNumber: before + 1 } })
    expect(await contract.getFunction('get').staticCall()).toBe(42n)
  })

  test('no funds is INSUFFICIENT_FUNDS, a used nonce NONCE_EXPIRED', async () => {
    await expect(signer.sendTransaction({ to: OTHER, value: parseEther('1000000') })).rejects.toMatchObject({ code: 'INSUFFICIENT_FUNDS' })
    await expect(signer.sendTransaction({ to: OTHER, nonce: 0, gasLimit: 21_000n })).rejects.toThrow(/nonce/i)
  })

  test('evm_snapshot and evm_revert', async () => {
    const [block, balance] = [await provider.getBlock('latest'), await provider.getBalance(OTHER)]
    const id = await provider.send('evm_snapshot', [])
    await (await contract.getFunction('set').send(50n)).wait()
    await (await signer.sendTransaction({ to: OTHER, value: 90n })).wait()
    expect(await contract.getFunction('get').staticCall()).toBe(50n)
    expect(await provider.send('evm_revert', [id])).toBe(true)
    expect(await contract.getFunction('get').staticCall()).toBe(42n)
    expect(await provider.getBalance(OTHER)).toBe(balance)
    expect((await provider.getBlock('latest'))?.hash).toBe(block?.hash)
    // Nonces went back too: the next transaction is mined.
    expect((await (await signer.sendTransaction({ to: OTHER, value: 1n })).wait())?.status).toBe(1)
  })

  test('an account that is impersonated signs as any other', async () => {
    const whale = '0x00000000000000000000000000000000000000ad'
    await provider.send('hardhat_setBalance', [whale, '0xde0b6b3a7640000'])
    await provider.send('hardhat_impersonateAccount', [whale])
    const sent = await new JsonRpcSigner(provider, whale).sendTransaction({ to: OTHER, value: 5n })
    expect((await sent.wait())?.from.toLowerCase()).toBe(whale)
    expect(await provider.getTransactionCount(whale)).toBe(1)
    await provider.send('hardhat_stopImpersonatingAccount', [whale])
    await expect(new JsonRpcSigner(provider, whale).sendTransaction({ to: OTHER, value: 5n, gasLimit: 21_000n })).rejects.toThrow()
  })

  test('evm_mine with a time, evm_increaseTime', async () => {
    const { timestamp } = (await provider.getBlock('latest')) as { timestamp: number }
    await provider.send('evm_mine', [timestamp + 1000])
    expect((await provider.getBlock('latest'))?.timestamp).toBe(timestamp + 1000)
    await provider.send('evm_increaseTime', [3600])
    await provider.send('evm_mine', [])
    const later = (await provider.getBlock('latest'))?.timestamp as number
    expect(later - timestamp).toBeGreaterThanOrEqual(4600)
    expect(later - timestamp).toBeLessThan(4660)
  })
})
