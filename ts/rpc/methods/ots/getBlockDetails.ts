// ots_getBlockDetails: A block without its transactions, its rewards and its fees.
import { heightOrTag } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'
import { type Block, blockDetails, parsed } from '../../otterscan.ts'

export const otsBlockDetails = method({
  name: 'ots_getBlockDetails',
  doc: 'A block without its transactions, its rewards and all fees of its transactions; null if it does not exist.',
  result: '`{block, issuance, totalFees}`, or `null`',
  cost: 'heavy',
  params: [required('block', heightOrTag)],
  handle: async ({ core }, block) =>
    json(await blockDetails(core, parsed<Block | null>(await core.request('getBlockByNumber', { block, full: false })))),
})
