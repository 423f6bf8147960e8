// hearth follow with anvil as upstream: blocks are proven by eth_getProof of the keys that its
// prestateTracer names. Its answers differ from ours in the places of a table, each with a reason.
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { type DevNode, missing, startAnvil } from './dev-node.ts'
import { blockAt, caughtUp, differences, readyOf, result, startFollower, TRACERS } from './follow-nodes.ts'
import { makeWorkplace, work } from './follow-workload.ts'
import { type RunningNode, tempHome } from './harness.ts'
import { until } from './waiting.ts'

const why = missing('anvil')
if (why !== undefined) console.log(`skipped: hearth follow on anvil: ${why}`)

/** Rules up to Cancun, and no state: the header of anvil's first block has the root of none. */
const GENESIS = {
  config: {
    chainId: 31_337,
    ...Object.fromEntries(
      ['homestead', 'eip150', 'eip155', 'eip158', 'byzantium', 'constantinople', 'petersburg', 'istanbul', 'berlin', 'london'].map(
        (fork) => [`${fork}Block`, 0],
      ),
    ),
    terminalTotalDifficulty: 0,
    shanghaiTime: 0,
    cancunTime: 0,
  },
  nonce: '0x0',
  timestamp: '0x65000000',
  extraData: '0x',
  gasLimit: '0x1c9c380',
  difficulty: '0x0',
  mixHash: `0x${'00'.repeat(32)}`,
  coinbase: `0x${'00'.repeat(20)}`,
  baseFeePerGas: '0x7',
  alloc: {},
}

const stopping: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const stop of stopping.splice(0).reverse()) await stop()
})

interface Anvil {
  readonly node: DevNode
  readonly calls: Calls
  readonly genesis: string
}

async function anvil(): Promise<Anvil> {
  const genesis = path.join(tempHome(), 'genesis.json')
  fs.writeFileSync(genesis, JSON.stringify(GENESIS))
  const node = await startAnvil(['--init', genesis, '--hardfork', 'cancun', '--order', 'fifo'])
  stopping.push(node.stop)
  const calls = new Calls(node.url)
  await calls.call('anvil_setBlockTimestampInterval', 1)
  return { node, calls, genesis }
}

async function follower({ node, genesis }: Anvil, ...args: string[]): Promise<RunningNode> {
  const running = await startFollower(tempHome(), node.url, '--genesis', genesis, ...args)
  stopping.push(() => running.stop())
  await caughtUp(running.url, node.url)
  return running
}

/** Where answers of anvil differ from ours, and why. */
const DIFFERENT: Readonly<Record<string, string>> = {
  'eth_getBlockByNumber: totalDifficulty (there alone)': 'go-ethereum and execution-apis no longer have it',
  'eth_getBlockByNumber: size': 'one byte less: the length of the list around the block is not counted',
  'debug_getRawReceipts: .error (there alone)': 'it has no such method',
  'debug_getRawReceipts:  (here alone)': 'it has no such method',
  'eth_getBlockReceipts: [].blobGasPrice (there alone)': 'execution-apis: of transactions with blobs alone',
  'eth_getBlockReceipts: [].blockTimestamp (there alone)': 'no receipt of execution-apis has it; and it is a number',
  'eth_getTransactionReceipt: blobGasPrice (there alone)': 'execution-apis: of transactions with blobs alone',
  'eth_getTransactionReceipt: blockTimestamp (there alone)': 'no receipt of execution-apis has it; and it is a number',
  'struct logs: structLogs[] (here alone)': 'the last step is missing (RETURN, REVERT, SELFDESTRUCT, STOP)',
  'struct logs: gas': 'that of the block up to the transaction',
  'callTracer: gas': 'the limit without the intrinsic gas',
  'callTracer: gasUsed': 'that of the block up to the transaction',
  'callTracer: logs[].index': 'counted from the call on; in go-ethereum from the block on',
  'callTracer: calls[].logs[].index': 'counted from the call on; in go-ethereum from the block on',
  'callTracer: logs (there alone)': 'logs of a call that failed stay',
  'callTracer: calls[].error': 'in its own words',
  'prestateTracer: * (there alone)': 'accounts that do not exist are listed with a balance of 0x0',
  'prestateTracer: *.codeHash (here alone)': 'it has no such field',
  'prestateTracer in diffMode: pre.* (there alone)': 'accounts that do not exist are listed with a balance of 0x0',
  'prestateTracer in diffMode: pre.*.codeHash (here alone)': 'it has no such field',
  'prestateTracer in diffMode: post.*.codeHash (here alone)': 'it has no such field',
  '4byteTracer: *': 'calls of precompiled contracts count',
  'flatCallTracer: ': 'it has no such tracer in debug_*, and answers {}',
  'muxTracer: callTracer (here alone)': 'it has no such tracer, and answers {}',
  'muxTracer: prestateTracer (here alone)': 'it has no such tracer, and answers {}',
}

describe.skipIf(why !== undefined)('anvil', () => {
  const metricsOf = async (node: RunningNode): Promise<string> => await (await fetch(node.metrics as string)).text()
  /** Every answer about the blocks from the second one on is that of anvil, but for the table. */
  async function expectSame(upstream: Anvil, node: RunningNode): Promise<number> {
    const last = await upstream.calls.height()
    const { same, places } = await differences([upstream.node.url, node.url], { from: 2, to: last, tracers: TRACERS, exact: false })
    expect(same).toBeGreaterThan(0)
    expect([...places].filter(([place]) => DIFFERENT[place] === undefined)).toEqual([])
    for (const place of places.keys()) seen.add(place)
    return last
  }
  const seen = new Set<string>()

  it('is proven by eth_getProof while nothing becomes empty', async () => {
    const upstream = await anvil()
    const place = await makeWorkplace(upstream.calls)
    await work(upstream.calls, place, { rounds: 5, blobs: false, empties: false })
    const node = await follower(upstream, '--from', '2')
    const last = await expectSame(upstream, node)
    expect(await metricsOf(node)).toMatch(new RegExp(`^follow_blocks_total\\{verified="proven"\\} ${last - 1}$`, 'm'))
    // anvil keeps a slot of zero in its trie: the state root of such a block is not Ethereum's.
    await work(upstream.calls, place, { rounds: 1, first: 5, blobs: false })
    await until('the refusal', async () => (await readyOf(node.url)).reasons.some((reason) => reason.includes('is refused: stateRoot')))
    expect((await blockAt(node.url, 'latest')).number).toBe(`0x${last.toString(16)}`)
  })

  const EXECUTED = ['--follow.source=prestate', '--follow.verify=executed']

  it('is executed with everything, until it has a blob', async () => {
    const upstream = await anvil()
    const place = await makeWorkplace(upstream.calls)
    await work(upstream.calls, place, { rounds: 5, blobs: false })
    const node = await follower(upstream, '--from', '2', ...EXECUTED)
    const last = await expectSame(upstream, node)
    expect(await metricsOf(node)).toMatch(new RegExp(`^follow_blocks_total\\{verified="executed"\\} ${last - 1}$`, 'm'))
    expect([...seen].sort()).toEqual(Object.keys(DIFFERENT).sort())
    // The root of transactions is over those with their blobs, which no block contains (EIP-4844).
    await work(upstream.calls, place, { rounds: 1, first: 6, empties: false })
    await until('the refusal', async () =>
      (await readyOf(node.url)).reasons.some((reason) => reason.includes('is refused: transactionsRoot')),
    )
  })

  it.each([5, 40])('is followed into a branch of %d blocks', async (depth) => {
    const upstream = await anvil()
    const { calls } = upstream
    const place = await makeWorkplace(calls)
    const put = async (value: number): Promise<void> => {
      const data = `0x${[1, value].map((n) => n.toString(16).padStart(64, '0')).join('')}`
      const hash = await calls.send(ALICE, place.store, { data, gas: '0x7a120' })
      await until('the receipt', async () => (await result(upstream.node.url, 'eth_getTransactionReceipt', hash)) !== null)
    }
    await calls.call('anvil_mine', `0x${(depth + 2).toString(16)}`)
    const node = await follower(upstream, '--from', '2')
    const filters = await Promise.all(
      [upstream.node.url, node.url].map((url) => result<string>(url, 'eth_newFilter', { address: place.store })),
    )
    await put(7)
    await caughtUp(node.url, upstream.node.url)
    // Its first block has a transaction, so that every block differs.
    await calls.call('anvil_reorg', depth, [[{ from: ALICE, to: BOB, value: '0x1' }, 0]])
    await put(8)
    await put(9)
    await caughtUp(node.url, upstream.node.url)
    const changes = await result<{ removed: boolean; data: string }[]>(node.url, 'eth_getFilterChanges', filters[1])
    expect(changes.map(({ removed, data }) => [removed, Number(data)])).toEqual([
      [false, 7],
      [true, 7],
      [false, 8],
      [false, 9],
    ])
    expect(await metricsOf(node)).toMatch(new RegExp(`^follow_reorged_blocks_total ${depth}$`, 'm'))
    await expectSame(upstream, node)
    const range = { address: place.store, fromBlock: '0x2', toBlock: 'latest' }
    expect(await result(node.url, 'eth_getLogs', range)).toEqual(await result(upstream.node.url, 'eth_getLogs', range))
  })
})
