// ots_searchTransactionsBefore: One page of the transactions of an account.
import { address, heightOrZero, pageSize } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const otsSearchBefore = method({
  name: 'ots_searchTransactionsBefore',
  doc: 'One page of the transactions with a call, creation or self-destruct from or to an account, before a block, newest first; block 0 starts at the head. The last block of a page is complete, so a page can exceed pageSize. Needs the address index (evm.address_index).',
  result: '`{txs, receipts, firstPage, lastPage}`',
  cost: 'heavy',
  params: [required('address', address), required('blockNumber', heightOrZero), required('pageSize', pageSize)],
  handle: ({ core, trace }, address, block, pageSize) =>
    core.request('accountTransactions', { address, block, pageSize, before: true, maxBlocks: trace.filterMaxBlocks }),
})
