// testing_buildBlockV1: Builds a block on the head, which must be `parent`, from exactly these
// transactions, or from the pool if they are absent or null. The block is not stored
// (execution-apis).
import { data, hash, payloadAttributes, rawTransactions } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const buildBlockV1 = method({
  name: 'testing_buildBlockV1',
  doc: 'Builds a block on the head, which must be `parent`, from exactly these transactions, or from the pool if they are absent or null. The block is not stored (execution-apis).',
  result: '`{executionPayload, blockValue, …}`',
  cost: 'heavy',
  params: [
    required('parent', hash),
    required('attributes', payloadAttributes),
    optional('transactions', rawTransactions),
    optional('extraData', data),
  ],
  handle: ({ core }, parent, attributes, transactions, extraData) =>
    core.request('buildBlock', { parent, attributes, transactions, extraData }),
})
