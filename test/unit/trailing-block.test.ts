// Methods that take an absent block as `latest`, and those that refuse it: a decision for every
// method with a block parameter.
import { describe, expect, it } from 'vitest'
import { METHODS } from '../../ts/rpc/table.ts'
import { asked } from './requested.ts'

const A = `0x${'aa'.repeat(20)}`
const TX = { to: A }
const SLOT = `0x${'0'.repeat(64)}`

/** The block may be absent or null. The values are the parameters before it. */
const OPTIONAL: Readonly<Record<string, readonly unknown[]>> = {
  // Optional in execution-apis and in go-ethereum 1.17.0.
  eth_call: [TX],
  eth_createAccessList: [TX],
  eth_estimateGas: [TX],
  eth_simulateV1: [{ blockStateCalls: [] }],
  // Optional in execution-apis; go-ethereum 1.17.0 requires it, later releases do not.
  eth_getBalance: [A],
  eth_getCode: [A],
  eth_getProof: [A, []],
  eth_getStorageAt: [A, SLOT],
  eth_getStorageValues: [{ [A]: [SLOT] }],
  eth_getTransactionCount: [A],
  // Optional in Besu.
  trace_call: [TX, ['trace']],
  trace_callMany: [[]],
  // anvil's own lookups, whose block may be null there.
  eth_getAccount: [A],
  eth_getAccountInfo: [A],
}

/** Methods of which a block is a parameter that changes nothing. */
const WITHOUT_EFFECT = ['debug_codeByHash']

/**
 * The block is required in execution-apis if it has the method, and in go-ethereum 1.17.0: the
 * parameters before it.
 */
const REQUIRED: Readonly<Record<string, readonly unknown[]>> = {
  debug_executionWitness: [],
  debug_getRawBlock: [],
  debug_getRawHeader: [],
  debug_getRawReceipts: [],
  debug_storageRangeAt: [],
  // RLP of a block.
  debug_traceBlock: [],
  debug_traceBlockByNumber: [],
  debug_traceCall: [TX],
  // `start` and `end` of a range.
  debug_subscribe: ['traceChain'],
  eth_feeHistory: ['0x1'],
  eth_getBlockByNumber: [],
  eth_getBlockReceipts: [],
  eth_getBlockTransactionCountByNumber: [],
  eth_getHeaderByNumber: [],
  eth_getRawTransactionByBlockNumberAndIndex: [],
  eth_getTransactionByBlockNumberAndIndex: [],
  eth_getUncleByBlockNumberAndIndex: [],
  eth_getUncleCountByBlockNumber: [],
  trace_block: [],
  trace_replayBlockTransactions: [],
  erigon_getHeaderByNumber: [],
  ots_getBlockDetails: [],
  ots_getBlockTransactions: [],
  ots_hasCode: [A],
}

/** Names of block parameters. */
const BLOCK_PARAMS = ['block', 'newestBlock', 'start']

/** The methods that have a block parameter. */
const withBlock = METHODS.filter((m) => m.params.some((p) => BLOCK_PARAMS.includes(p.name)))

describe('an absent block', () => {
  it('is decided for every method that takes one', () => {
    const decided = [...Object.keys(OPTIONAL), ...Object.keys(REQUIRED), ...WITHOUT_EFFECT]
    expect(decided.sort()).toEqual(withBlock.map((m) => m.name).sort())
  })

  it.each(Object.entries(OPTIONAL))('is latest for %s', async (name, before) => {
    const wanted = await asked(name, ...before, 'latest')
    // Absent for the core is the head's state too.
    const blockOf = ({ block = 'latest', ...rest }: Record<string, unknown>) => ({ block, ...rest })
    expect(wanted).toMatchObject({ block: 'latest' })
    expect(blockOf((await asked(name, ...before)) as Record<string, unknown>)).toEqual(wanted)
    expect(blockOf((await asked(name, ...before, null)) as Record<string, unknown>)).toEqual(wanted)
  })

  it.each(Object.entries(REQUIRED))('is refused by %s', async (name, before) => {
    const refusal = [-32602, `missing value for required argument ${before.length}`]
    expect(await asked(name, ...before)).toEqual(refusal)
    expect(await asked(name, ...before, null)).toEqual(refusal)
  })
})
