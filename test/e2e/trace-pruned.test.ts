// Methods of the namespaces trace and ots over blocks that were pruned: an error that says what is
// kept, never an empty list or null, which would mean that there is nothing.
import fs from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DEPLOY } from './contract.ts'
import { ALICE, BOB, Calls } from './dev-calls.ts'
import { set } from './dev-requests.ts'
import { hearth, type RunningNode, startNode, tempHome } from './harness.ts'

/** Blocks from here on are kept. */
const KEPT = 4

const PRUNED = { code: -32000, message: expect.stringMatching(/^block \d+ was pruned: (blocks|receipts) are kept from block 4 on$/) }

describe('blocks that were pruned', () => {
  const home = tempHome()
  const hashes: string[] = []
  const blocks: string[] = []
  let contract = ''
  let node: RunningNode
  let dev: Calls
  beforeAll(async () => {
    const first = await startNode(['dev', '--home', home])
    const made = new Calls(first.url)
    hashes.push(await made.send(ALICE, undefined, { data: DEPLOY, gas: '0xf4240' }))
    contract = (await made.call<{ contractAddress: string }>('eth_getTransactionReceipt', hashes[0])).contractAddress
    for (const value of [7, 8, 9, 10]) hashes.push(await made.send(ALICE, contract, { data: set(value), gas: '0xf4240' }))
    for (const number of [1, 2, 3, 4, 5])
      blocks.push((await made.call<{ hash: string }>('eth_getBlockByNumber', `0x${number}`, false)).hash)
    expect(await first.stop()).toBe(0)
    for (const table of ['blocks', 'receipts', 'capsules'])
      expect(hearth(['db', 'prune', '--home', home, '--table', table, '--below', String(KEPT)]).status).toBe(0)
    node = await startNode(['dev', '--home', home])
    dev = new Calls(node.url)
  })
  afterAll(async () => {
    expect(await node.stop()).toBe(0)
    fs.rmSync(home, { recursive: true, force: true })
  })

  const CASES: [method: string, params: () => unknown[]][] = [
    ['trace_block', () => ['0x2']],
    ['trace_transaction', () => [hashes[1]]],
    ['trace_get', () => [hashes[1], []]],
    ['trace_filter', () => [{ fromBlock: '0x2', toBlock: '0x5', toAddress: [contract] }]],
    ['trace_filter', () => [{ fromBlock: '0x2', toBlock: '0x5' }]],
    ['trace_replayTransaction', () => [hashes[1], ['trace']]],
    ['trace_replayBlockTransactions', () => ['0x2', ['trace', 'stateDiff', 'vmTrace']]],
    ['trace_call', () => [{ from: ALICE, to: contract }, ['trace'], '0x2']],
    ['trace_callMany', () => [[[{ from: ALICE, to: contract }, ['trace']]], '0x2']],
    ['ots_getInternalOperations', () => [hashes[1]]],
    ['ots_getTransactionError', () => [hashes[1]]],
    ['ots_traceTransaction', () => [hashes[1]]],
    ['ots_getBlockDetails', () => [2]],
    ['ots_getBlockTransactions', () => [2, 0, 5]],
    ['ots_searchTransactionsBefore', () => [contract, KEPT, 10]],
    ['eth_getTransactionByHash', () => [hashes[1]]],
    ['eth_getTransactionReceipt', () => [hashes[1]]],
    ['debug_traceTransaction', () => [hashes[1]]],
    ['ots_searchTransactionsAfter', () => [contract, 0, 10]],
    ['ots_getContractCreator', () => [contract]],
    ['ots_getTransactionBySenderAndNonce', () => [ALICE, 1]],
    ['erigon_getHeaderByNumber', () => ['0x2']],
  ]
  it.each(CASES)('%s of a pruned block', async (method, params) => {
    expect(await dev.refused(method, ...params())).toEqual(PRUNED)
  })

  it('a pruned block is unknown by its hash and ends searches', async () => {
    expect(await dev.call('ots_getBlockDetailsByHash', blocks[1])).toBeNull()
    const page = await dev.call<{ txs: { hash: string }[]; lastPage: boolean }>('ots_searchTransactionsBefore', contract, 0, 10)
    expect([page.txs.map(({ hash }) => hash), page.lastPage]).toEqual([[hashes[4], hashes[3]], false])
  })

  it('blocks that are kept are traced', async () => {
    expect(await dev.call('trace_block', '0x5')).toHaveLength(1)
    expect(await dev.call('trace_transaction', hashes[4])).toHaveLength(1)
    expect(await dev.call('trace_filter', { fromBlock: '0x4', toBlock: '0x5', toAddress: [contract] })).toHaveLength(2)
    expect(await dev.call('ots_hasCode', contract, 'latest')).toBe(true)
    expect(await dev.call('trace_call', { from: ALICE, to: BOB, value: '0x1' }, ['trace'])).toMatchObject({ output: '0x' })
  })
})
