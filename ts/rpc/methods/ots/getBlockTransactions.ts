// ots_getBlockTransactions: One page of a block's transactions and their receipts.
import { heightOrTag, pageNumber, pageSize } from '../../codec/index.ts'
import { json, method, required } from '../../method.ts'
import { type Block, blockTransactions, parsed } from '../../otterscan.ts'

export const otsBlockTransactions = method({
  name: 'ots_getBlockTransactions',
  doc: "One page of a block's transactions, with the first four bytes of their input, and their receipts without logs; page 0 has the last ones. null where there is no such block.",
  result: '`{fullblock, receipts}`',
  cost: 'heavy',
  params: [required('block', heightOrTag), required('pageNumber', pageNumber), required('pageSize', pageSize)],
  handle: async ({ core }, block, page, size) =>
    json(await blockTransactions(core, parsed<Block | null>(await core.request('getBlockByNumber', { block, full: true })), page, size)),
})
