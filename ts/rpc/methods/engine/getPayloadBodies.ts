// engine_getPayloadBodiesByHashV1 and ByRangeV1: transactions and withdrawals of blocks
// (execution-apis, src/engine/shanghai.md).
import { hashes, uint64 } from '../../codec/index.ts'
import { method, required } from '../../method.ts'

export const getPayloadBodiesByHashV1 = method({
  name: 'engine_getPayloadBodiesByHashV1',
  doc: 'Transactions and withdrawals of blocks by hash, at most 1,024; null for an unknown one.',
  result: '`{transactions, withdrawals}`[]',
  cost: 'heavy',
  params: [required('blockHashes', hashes)],
  handle: ({ core }, asked) => core.request('engineBodiesByHash', { hashes: asked }),
})

export const getPayloadBodiesByRangeV1 = method({
  name: 'engine_getPayloadBodiesByRangeV1',
  doc: 'Transactions and withdrawals of canonical blocks from a height on, at most 1,024; nothing beyond the head.',
  result: '`{transactions, withdrawals}`[]',
  cost: 'heavy',
  params: [required('from', uint64), required('count', uint64)],
  handle: ({ core }, start, count) => core.request('engineBodiesByRange', { start, count }),
})
