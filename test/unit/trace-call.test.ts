import { describe, expect, it } from 'vitest'
import { asked } from './requested.ts'

const A = `0x${'aa'.repeat(20)}`
const HASH = `0x${'ab'.repeat(32)}`

describe('debug_traceCall', () => {
  it('takes overrides and index out of the configuration', async () => {
    const state = { [A]: { balance: '0x1' } }
    const config = { tracer: 'callTracer', txIndex: '0x2', stateOverrides: state, blockOverrides: { number: '0x9', unknown: 1 } }
    expect(await asked('debug_traceCall', { to: A }, HASH, config)).toEqual({
      transaction: { to: A },
      block: { blockHash: HASH },
      txIndex: '0x2',
      stateOverrides: state,
      blockOverrides: { number: '0x9' },
      config: { tracer: 'callTracer', timeout: '5000ms' },
    })
  })

  it('works without a configuration and keeps the timeout of one', async () => {
    expect(await asked('debug_traceCall', {}, 'latest')).toEqual({ transaction: {}, block: 'latest', config: { timeout: '5000ms' } })
    expect(await asked('debug_traceCall', {}, 'latest', { timeout: '9s' })).toMatchObject({ config: { timeout: '9s' } })
  })

  it('names what is wrong', async () => {
    expect(await asked('debug_traceCall', {})).toEqual([-32602, 'missing value for required argument 1'])
    expect(await asked('debug_traceCall', {}, 'latest', { txIndex: 1 })).toEqual([
      -32602,
      'invalid argument 2: config.txIndex: cannot use number as a hex string',
    ])
    expect(await asked('debug_traceCall', {}, 'latest', { stateOverrides: { [A]: { balance: 'x' } } })).toEqual([
      -32602,
      `invalid argument 2: config.stateOverrides.${A}.balance: hex string without 0x prefix`,
    ])
  })
})

describe('debug_traceCallMany', () => {
  const call = { to: A }
  const config = { tracer: 'callTracer', timeout: '5000ms' }

  it('takes the shape of reth', async () => {
    const bundle = { transactions: [call], blockOverride: { number: '0x5', time: '0x6', coinbase: A, random: HASH, baseFee: '0x7' } }
    expect(
      await asked(
        'debug_traceCallMany',
        [bundle],
        { blockNumber: '0x10', transactionIndex: 3 },
        { tracer: 'callTracer', stateOverrides: {} },
      ),
    ).toEqual({
      bundles: [
        {
          transactions: [call],
          blockOverrides: { number: '0x5', time: '0x6', feeRecipient: A, prevRandao: HASH, baseFeePerGas: '0x7' },
          blockHashes: [],
        },
      ],
      block: '0x10',
      transactionIndex: '0x3',
      stateOverrides: {},
      config,
    })
  })

  it('takes the shape of Erigon', async () => {
    const override = { blockNumber: '0x5', timestamp: 6, coinbase: A, blockHash: { '4': HASH } }
    const context = { blockNumber: HASH, transactionIndex: -1 }
    expect(await asked('debug_traceCallMany', [{ transactions: [call, call], blockOverride: override }], context, config)).toEqual({
      bundles: [
        { transactions: [call, call], blockOverrides: { number: '0x5', time: '0x6', feeRecipient: A }, blockHashes: [['0x4', HASH]] },
      ],
      block: { blockHash: HASH },
      config,
    })
  })

  it('takes the shape of Nethermind', async () => {
    const state = { [A]: { code: '0x00' } }
    const bundle = { transactions: [call], blockOverride: { feeRecipient: A, gasLimit: '0x1' }, stateOverrides: state }
    expect(await asked('debug_traceCallMany', [bundle], 'latest', config)).toEqual({
      bundles: [{ transactions: [call], blockOverrides: { feeRecipient: A, gasLimit: '0x1' }, blockHashes: [], stateOverrides: state }],
      block: 'latest',
      config,
    })
  })

  it('needs the bundles alone and names what is wrong', async () => {
    expect(await asked('debug_traceCallMany', [])).toEqual({ bundles: [], config: { timeout: '5000ms' } })
    expect(await asked('debug_traceCallMany', [{ transactions: [{ gas: 'x' }] }])).toEqual([
      -32602,
      'invalid argument 0: bundles[0].transactions[0].gas: hex string without 0x prefix',
    ])
    expect(await asked('debug_traceCallMany', [], { transactionIndex: -2 })).toEqual([
      -32602,
      'invalid argument 1: context.transactionIndex: invalid transaction index -2',
    ])
    expect(await asked('debug_traceCallMany', [], 5)).toEqual([-32602, 'invalid argument 1: context: cannot use number as a block'])
  })
})

describe('the methods of steps', () => {
  const config = { timeout: '5000ms' }

  it('take a transaction by its hash', async () => {
    expect(await asked('debug_traceStepIndex', HASH)).toEqual({ hash: HASH, options: {}, config })
    const page = { from: 3, to: 9, fields: ['stack'], stackTop: 4, memory: { offset: 0, length: 64 } }
    expect(await asked('debug_traceSteps', HASH, { ...page, frame: null, timeout: '9s' })).toEqual({
      hash: HASH,
      options: page,
      config: { timeout: '9s' },
    })
    const where = { op: 'SSTORE', slot: '0x0', error: true }
    expect(await asked('debug_traceStepSearch', HASH, { where, backwards: true })).toEqual({
      hash: HASH,
      options: { where, backwards: true },
      config,
    })
    expect(await asked('debug_traceGasProfile', HASH, { by: 'frame' })).toEqual({ hash: HASH, options: { by: 'frame' }, config })
  })

  it('take a call with its overrides, and a profile a block', async () => {
    const state = { [A]: { balance: '0x1' } }
    const call = { transaction: { to: A }, block: HASH, txIndex: '0x1', stateOverrides: state }
    expect(await asked('debug_traceStepIndex', call)).toEqual({ call: { ...call, block: { blockHash: HASH } }, options: {}, config })
    expect(await asked('debug_traceGasProfile', { block: '0x5' })).toEqual({ block: '0x5', options: {}, config })
    expect(await asked('debug_traceStepIndex', { block: '0x5' })).toEqual([
      -32602,
      'invalid argument 0: of: a hash, or an object with transaction and block, is needed',
    ])
  })

  it('name what is wrong', async () => {
    expect(await asked('debug_traceSteps', HASH)).toEqual([-32602, 'missing value for required argument 1'])
    expect(await asked('debug_traceSteps', HASH, { from: '0x1', to: 2 })).toEqual([
      -32602,
      'invalid argument 1: options.from: cannot use string as a number',
    ])
    expect(await asked('debug_traceSteps', HASH, { from: 0, to: 2, fields: ['memory'] })).toEqual([
      -32602,
      'invalid argument 1: options.fields[0]: cannot use "memory": one of stack, storage, returnData',
    ])
  })
})

describe('the other methods of debug', () => {
  it('hands blocks, hashes and ranges on', async () => {
    expect(await asked('debug_traceBlock', '0x01', { tracer: 'noopTracer' })).toEqual({
      rlp: '0x01',
      config: { tracer: 'noopTracer', timeout: '5000ms' },
    })
    expect(await asked('debug_traceBadBlock', HASH)).toEqual({ hash: HASH, config: { timeout: '5000ms' } })
    expect(await asked('debug_traceTransactionProfile', HASH)).toEqual({ hash: HASH, config: { timeout: '5000ms' } })
    expect(await asked('debug_traceStateAccess', HASH)).toEqual({ hash: HASH })
    expect(await asked('debug_traceStateAccess', HASH, {})).toEqual([-32602, 'too many arguments, want at most 1'])
    expect(await asked('debug_intermediateRoots', HASH, {})).toEqual({ hash: HASH })
    expect(await asked('debug_storageRangeAt', HASH, 1, A, '0x', 1024)).toEqual({
      block: { blockHash: HASH },
      txIndex: '0x1',
      address: A,
      keyStart: '0x',
      maxResult: '0x400',
    })
  })

  it('says what to use in place of those that write files', async () => {
    expect(await asked('debug_standardTraceBlockToFile', HASH, {})).toEqual([
      -32601,
      'the method debug_standardTraceBlockToFile does not exist/is not available: use debug_traceBlockByHash',
    ])
    expect(await asked('debug_standardTraceBadBlockToFile')).toEqual([
      -32601,
      'the method debug_standardTraceBadBlockToFile does not exist/is not available: use debug_traceBadBlock',
    ])
  })
})
