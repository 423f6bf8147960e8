import { expect, it } from 'vitest'
import { allWithinLimits } from '../../ts/rpc/codec/index.ts'
import { asked } from './requested.ts'

const A = `0x${'aa'.repeat(20)}`
const B = `0x${'bb'.repeat(20)}`
const HASH = `0x${'11'.repeat(32)}`
const ZERO = `0x${'00'.repeat(32)}`

it('eth_simulateV1 passes on the known members', async () => {
  const withdrawal = { index: '0x1', validatorIndex: '0x2', address: A, amount: '0x3' }
  const block = {
    blockOverrides: { number: '0x9', beaconRoot: HASH, withdrawals: [withdrawal], unknown: 1 },
    stateOverrides: { [A]: { movePrecompileToAddress: B } },
    calls: [{ from: A, to: null, maxFeePerGas: '0x1', unknown: 2 }],
  }
  const given = { blockStateCalls: [block, {}], traceTransfers: true, validation: false, returnFullTransactions: null, unknown: 3 }
  expect(await asked('eth_simulateV1', given, { blockHash: HASH })).toEqual({
    options: {
      blockStateCalls: [
        {
          blockOverrides: { number: '0x9', beaconRoot: HASH, withdrawals: [withdrawal] },
          stateOverrides: { [A]: { movePrecompileToAddress: B } },
          calls: [{ from: A, maxFeePerGas: '0x1' }],
        },
        {},
      ],
      traceTransfers: true,
      validation: false,
    },
    block: { blockHash: HASH, requireCanonical: false },
  })
})

it('what go-ethereum takes for zero may be absent', async () => {
  const blockOverrides = { withdrawals: [{ address: A, amount: '0x3' }, {}] }
  const withdrawals = [
    { index: '0x0', validatorIndex: '0x0', address: A, amount: '0x3' },
    { index: '0x0', validatorIndex: '0x0', address: `0x${'00'.repeat(20)}`, amount: '0x0' },
  ]
  expect(await asked('eth_simulateV1', { blockStateCalls: [{ blockOverrides, stateOverrides: { [A]: null } }] })).toMatchObject({
    options: { blockStateCalls: [{ blockOverrides: { withdrawals }, stateOverrides: { [A]: {} } }] },
  })
})

it('eth_simulateV1 names the value that it refuses', async () => {
  const refused = async (options: unknown): Promise<unknown> => asked('eth_simulateV1', options, 'latest')
  expect(await refused({ blockStateCalls: [{ calls: [{}, { gas: '0xzz' }] }] })).toEqual([
    -32602,
    expect.stringContaining('blockStateCalls[0].calls[1].gas'),
  ])
  expect(await refused({ validation: 1 })).toEqual([-32602, expect.stringContaining('validation: cannot use number as a boolean')])
  expect(await refused([])).toEqual([-32602, expect.stringContaining('cannot use array as an object')])
  expect(await asked('eth_simulateV1')).toEqual([-32602, 'missing value for required argument 0'])
})

it('the state overrides of all blocks count together', () => {
  const slots = { [ZERO]: ZERO }
  const blocks = [{ [A]: { state: slots } }, undefined, { [A]: { stateDiff: slots }, [B]: {} }]
  expect(() => allWithinLimits(blocks, { accounts: 3, slots: 2 })).not.toThrow()
  expect(() => allWithinLimits(blocks, { accounts: 2, slots: 0 })).toThrow('state overrides name 3 accounts, more than the limit of 2')
  expect(() => allWithinLimits(blocks, { accounts: 0, slots: 1 })).toThrow('state overrides name 2 slots, more than the limit of 1')
})

it('two simulation methods pass on their parameters', async () => {
  expect(await asked('eth_getStorageValues', { [A]: [HASH] }, 'latest')).toEqual({ requests: { [A]: [HASH] }, block: 'latest' })
  expect(await asked('eth_getStorageValues', { [A]: ['0x1'] }, 'latest')).toEqual([-32602, expect.stringContaining(`${A}[0]`)])
  expect(await asked('eth_createAccessList', { to: A }, 'latest', { [A]: { nonce: '0x1' } })).toEqual({
    transaction: { to: A },
    block: 'latest',
    stateOverrides: { [A]: { nonce: '0x1' } },
  })
})
