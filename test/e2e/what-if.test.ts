// A mined transaction as a call on the state before it, unchanged, has the call tree that was
// mined: 200 transactions of a recorded block of mainnet.
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildTree, compareTrees, type MinedTransaction, type RawFrame, replayOf, steppedOf, traceCallOf } from '../../ts/explore/index.ts'
import { FIXTURES } from '../conformance/fixtures.ts'
import { Calls } from './dev-calls.ts'
import { hearth, type RunningNode, startNode, tempHome } from './harness.ts'

const BLOCK = 12_459_406
const file = path.join(FIXTURES, 'mainnet-blocks', `${BLOCK}.json.gz`)
const isThere = fs.existsSync(file)
if (!isThere) console.log('skipped: what-if of mined transactions: the recorded blocks are not there')

/** Transactions that are replayed. */
const REPLAYED = 200

const TRACER = { tracer: 'callTracer', tracerConfig: { withLog: true } }

describe.skipIf(!isThere)('a what-if of an unchanged transaction', () => {
  const home = tempHome()
  let node: RunningNode
  let dev: Calls
  let block: { hash: string; transactions: MinedTransaction[] }
  beforeAll(async () => {
    expect(hearth(['import', '--home', home, '--case', file]).status).toBe(0)
    node = await startNode(['start', '--home', home])
    dev = new Calls(node.url)
    block = await dev.call('eth_getBlockByNumber', `0x${BLOCK.toString(16)}`, true)
  })
  afterAll(async () => {
    await node?.stop()
    fs.rmSync(home, { recursive: true, force: true })
  })

  it('gives the mined call tree', async () => {
    const mined = await dev.call<{ result: RawFrame }[]>('debug_traceBlockByHash', block.hash, TRACER)
    const different: string[] = []
    for (const [i, tx] of block.transactions.slice(0, REPLAYED).entries()) {
      const call = await dev.call<RawFrame>('debug_traceCall', ...traceCallOf(replayOf(tx), TRACER))
      const { isEqual, calls } = compareTrees(buildTree((mined[i] as { result: RawFrame }).result), buildTree(call))
      if (!isEqual) different.push(`${i}: ${calls.flatMap(({ differs }) => differs).join(' ')}`)
    }
    expect(different).toEqual([])
  })

  it('steps as the mined transaction steps', async () => {
    const tx = block.transactions[1] as MinedTransaction
    const [ofCall, ofMined] = await Promise.all([steppedOf(replayOf(tx)), tx.hash].map((of) => dev.call('debug_traceStepIndex', of)))
    expect(ofCall).toEqual(ofMined)
  })
})
