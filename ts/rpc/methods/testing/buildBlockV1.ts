// testing_buildBlockV1: A block made on the head, which must be `parent`, of exactly these transactions, or of those in the pool where absent or null; it is not kept (execution-apis).
import { data, hash, payloadAttributes, rawTransactions } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const buildBlockV1 = method({
  name: 'testing_buildBlockV1',
  doc: 'A block made on the head, which must be `parent`, of exactly these transactions, or of those in the pool where absent or null; it is not kept (execution-apis).',
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
