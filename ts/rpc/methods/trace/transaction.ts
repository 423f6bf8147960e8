// trace_transaction: The traces of the calls of a transaction; null if it does not exist.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceTransactionCalls = method({
  name: 'trace_transaction',
  doc: 'The traces of the calls of a transaction; null if it does not exist.',
  result: 'trace[], or `null`',
  cost: 'heavy',
  params: [required('hash', hash)],
  handle: (context, hash) => context.core.stream('traceTransaction', { hash, config: parity(context, { form: 'localized' }) }),
})
