// Blocks in the form of Otterscan's methods: their rewards are those of the block of their hash.
import { expect, it } from 'vitest'
import { blockDetails } from '../../ts/rpc/otterscan.ts'
import { fakeCore } from './fake-core.ts'

const HASH = `0x${'12'.repeat(32)}` as const

it.each([
  ['0x1', { blockReward: '0x10', uncleReward: '0x5', issuance: '0x15' }],
  ['0x0', { blockReward: '0x0', uncleReward: '0x0', issuance: '0x0' }],
] as const)('a block of difficulty %s has the rewards of its hash', async (difficulty, issuance) => {
  const core = fakeCore({ blockRewards: '{"block":"0x10","ommers":"0x5"}', getBlockReceipts: '[]' })
  const block = { number: '0x7', hash: HASH, difficulty, transactions: [] } as const
  const header = { number: '0x7', hash: HASH, difficulty, logsBloom: null, transactionCount: 0 }
  expect(await blockDetails(core, block)).toEqual({ block: header, issuance, totalFees: '0x0' })
  const paid = difficulty === '0x0' ? [] : [['blockRewards', { hash: HASH }]]
  expect(core.asked).toEqual([...paid, ['getBlockReceipts', { block: { blockHash: HASH } }]])
})
