// What development nodes look up beside the methods of every node, beside anvil.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEPLOY } from './contract.ts'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { type DevNode, startNamed } from './dev-node.ts'
import { set } from './dev-requests.ts'
import { nodesBeside, onPeer } from './peer.ts'
import { until } from './waiting.ts'

const NOBODY = '0x00000000000000000000000000000000000000a1'
const FEES = { maxFeePerGas: '0x2540be400', maxPriorityFeePerGas: '0x1' }

/** A receipt, and who made it; anvil may give the hash before the block is there. */
async function mined(node: Calls, to: string | undefined, more: object): Promise<{ hash: string; contractAddress: string }> {
  const hash = await node.send(ALICE, to, { ...FEES, ...more })
  const receipt = () => node.call<{ contractAddress: string } | null>('eth_getTransactionReceipt', hash)
  await until('a receipt', async () => (await receipt()) !== null)
  return { hash, ...((await receipt()) as { contractAddress: string }) }
}

describe('accounts and transactions', () => {
  const nodes: DevNode[] = []
  const chains: { readonly name: DevNode['name']; readonly dev: Calls; readonly contract: string; readonly hash: string }[] = []
  const add = async (name: DevNode['name']): Promise<void> => {
    const node = await startNamed(name)
    nodes.push(node)
    const dev = new Calls(node.url)
    const { contractAddress } = await mined(dev, undefined, { data: DEPLOY, gas: '0xf4240' })
    const { hash } = await mined(dev, contractAddress, { data: set(42), gas: '0xf4240' })
    await mined(dev, BOB, { value: '0x5', gas: '0x5208' })
    chains.push({ name, dev, contract: contractAddress, hash })
  }
  beforeAll(async () => {
    const [own, ...others] = nodesBeside('anvil', 'lookups')
    await add(own as DevNode['name'])
    for (const name of others) await onPeer(name, 'its chain', () => add(name))
  })
  afterAll(async () => {
    for (const node of nodes) await node.stop()
  })

  /**
   * The answer of Hearth, compared with those of the peers; addresses, hashes and times, which
   * differ by chain, are left out.
   */
  async function same(of: (chain: (typeof chains)[number]) => Promise<unknown>): Promise<unknown> {
    const [own, ...others] = chains as [(typeof chains)[number], ...typeof chains]
    const answer = await of(own)
    for (const other of others) await onPeer(other.name, String(of), async () => expect(await of(other)).toEqual(answer))
    return answer
  }

  it('eth_getAccount and eth_getAccountInfo give an account whole', async () => {
    const account = await same(({ dev, contract }) => dev.call('eth_getAccount', contract, 'latest'))
    expect(account).toMatchObject({ nonce: '0x1', balance: '0x0', codeHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
    const info = await same(({ dev, contract }) => dev.call('eth_getAccountInfo', contract, 'latest'))
    expect(info).toEqual({ nonce: '0x1', balance: '0x0', code: await chains[0]?.dev.call('eth_getCode', chains[0].contract, 'latest') })
    const [{ dev }] = chains as [(typeof chains)[number]]
    expect(await dev.call('eth_getAccount', NOBODY, 'latest')).toBeNull()
    expect(await dev.call('eth_getAccountInfo', ALICE, '0x1')).toMatchObject({ nonce: '0x1', code: '0x' })
    expect(await dev.refused('eth_getAccountInfo', ALICE, '0xffff')).toMatchObject({ code: -32000 })
  })

  it('finds a sender’s mined or pending transaction by nonce', async () => {
    const found = await same(async ({ dev, hash }) => {
      const by = (nonce: number): Promise<{ hash: string; to: string } | null> =>
        dev.call('eth_getTransactionBySenderAndNonce', ALICE, `0x${nonce.toString(16)}`)
      return [(await by(1))?.hash === hash, (await by(2))?.to, await by(99)]
    })
    expect(found).toEqual([true, BOB, null])
    const [{ dev }] = chains as [(typeof chains)[number]]
    await dev.call('evm_setAutomine', false)
    const hash = await dev.send(BOB, ALICE, { gas: '0x5208' })
    expect(await dev.call('eth_getTransactionBySenderAndNonce', BOB, 0)).toMatchObject({ hash, blockNumber: null })
    await dev.call('evm_setAutomine', true)
    expect(await dev.call('eth_getTransactionBySenderAndNonce', BOB, 0)).toMatchObject({ hash, blockNumber: '0x4' })
  })

  it('eth_sendTransactionSync gives the receipt', async () => {
    const receipt = await same(async ({ dev }) => {
      const sent = { from: ALICE, to: NOBODY, value: '0x1', gas: '0x5208', ...FEES }
      const { status, from, to, gasUsed } = await dev.call<Record<string, string>>('eth_sendTransactionSync', sent)
      return { status, from, to, gasUsed }
    })
    expect(receipt).toEqual({ status: '0x1', from: ALICE, to: NOBODY, gasUsed: '0x5208' })
    const [{ dev }] = chains as [(typeof chains)[number]]
    await dev.call('evm_setAutomine', false)
    expect(await dev.refused('eth_sendTransactionSync', { from: ALICE, to: NOBODY, gas: '0x5208' }, 50)).toMatchObject({ code: 4 })
    await dev.call('evm_setAutomine', true)
    expect((await dev.refused('eth_sendTransactionSync', { from: NOBODY, to: ALICE, gas: '0x5208' })).message).toBe('unknown account')
  })

  it('trace_transaction and trace_block are the calls', async () => {
    const of = (traces: { action: object; result?: object; type: string; traceAddress: number[]; subtraces: number }[]): unknown =>
      traces.map(({ action, type, traceAddress, subtraces }) => ({ ...action, to: 'CONTRACT', gas: 'GAS', type, traceAddress, subtraces }))
    const traces = await same(async ({ dev, hash }) => of(await dev.call('trace_transaction', hash)))
    expect(traces).toMatchObject([{ callType: 'call', from: ALICE, input: set(42), value: '0x0', type: 'call', traceAddress: [] }])
    const [{ dev }] = chains as [(typeof chains)[number]]
    await dev.call('evm_setAutomine', false)
    for (const value of [1, 2, 3]) await dev.send(ALICE, NOBODY, { value: `0x${value}`, gas: '0x5208' })
    await dev.call('evm_mine')
    await dev.call('evm_setAutomine', true)
    const { number } = await dev.block()
    const { transactions } = await dev.block(number)
    const block = await dev.call<object[]>('trace_block', number)
    const each = await Promise.all(transactions.map((hash) => dev.call<object[]>('trace_transaction', hash)))
    expect(block).toEqual(each.flat())
    // The one that was sent and not waited for is mined with them.
    expect(block.length).toBeGreaterThanOrEqual(3)
    await dev.call('evm_mine')
    expect([await dev.call('trace_block', 'latest'), await dev.call('trace_block', '0xffff')]).toEqual([[], null])
    expect(await dev.call('trace_transaction', `0x${'12'.repeat(32)}`)).toBeNull()
  })

  it('names of other tools do what they say', async () => {
    const [{ dev }] = chains as [(typeof chains)[number]]
    expect(await dev.call('tenderly_setBalance', NOBODY, '0x10')).toBeNull()
    expect(await dev.call('tenderly_addBalance', NOBODY, '0x5')).toBeNull()
    expect(await dev.balance(NOBODY)).toBe(0x15n)
    const height = await dev.height()
    expect(await dev.call('hardhat_intervalMine')).toBe(true)
    expect(await dev.height()).toBe(height + 1)
    expect(await dev.call('hardhat_addCompilationResult', '0.8.20', {}, {})).toBe(false)
    expect(await dev.call('hardhat_getStackTraceFailuresCount')).toBe(0)
    expect(await dev.call('anvil_getGenesisTime')).toBe(await dev.time('0x0'))
  })
})
