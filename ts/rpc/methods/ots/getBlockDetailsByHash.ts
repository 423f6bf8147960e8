// ots_getBlockDetailsByHash: As ots_getBlockDetails, of a block by its hash.
import { hash } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'
import { type Block, blockDetails, parsed } from '../../otterscan.ts'

export const otsBlockDetailsByHash = method({
  name: 'ots_getBlockDetailsByHash',
  doc: 'A block without its transactions, its rewards and all fees of its transactions, by its hash; null if it does not exist.',
  result: '`{block, issuance, totalFees}`, or `null`',
  cost: 'heavy',
  params: [required('hash', hash)],
  handle: async ({ core }, hash) =>
    json(await blockDetails(core, parsed<Block | null>(await core.request('getBlockByHash', { hash, full: false })))),
})
