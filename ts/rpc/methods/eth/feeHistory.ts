// eth_feeHistory: Base fees, used gas and tips of past blocks.
import { arrayOf, BadValue, blockNumber, type Codec, hexOrDecimal, kindOf } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

/** Percentiles that are read of one request; go-ethereum's limit of 100 is the core's. */
const PERCENTILES_MAX = 10_000

const percentile: Codec<number> = (value) => {
  if (typeof value !== 'number') throw new BadValue(`cannot use ${kindOf(value)} as a number`)
  return value
}
const percentiles = arrayOf(percentile, PERCENTILES_MAX)

export const feeHistory = method({
  name: 'eth_feeHistory',
  doc: 'Base fees, used gas and tips of past blocks.',
  result: '`{oldestBlock, reward, baseFeePerGas, gasUsedRatio, baseFeePerBlobGas, blobGasUsedRatio}`',
  cost: 'heavy',
  params: [required('blockCount', hexOrDecimal), required('newestBlock', blockNumber), required('rewardPercentiles', percentiles, [])],
  handle: ({ core }, blockCount, newestBlock, rewardPercentiles) =>
    core.request('feeHistory', { blockCount, newestBlock, rewardPercentiles }),
})
