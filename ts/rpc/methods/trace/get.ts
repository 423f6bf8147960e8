// trace_get: One call of a transaction by its place among the calls; null if it does not exist.
import { hash, traceAddress } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceGet = method({
  name: 'trace_get',
  doc: 'The trace of one call of a transaction, by its trace address; an empty list is the transaction itself. null if it does not exist.',
  result: 'trace, or `null`',
  cost: 'heavy',
  params: [required('hash', hash), required('traceAddress', traceAddress)],
  handle: (context, hash, traceAddress) => context.core.stream('traceTransaction', { hash, config: parity(context, { traceAddress }) }),
})
