// trace_transaction: The calls of a transaction, each as a trace of its own; null where there is no such transaction.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceTransactionCalls = method({
  name: 'trace_transaction',
  doc: 'The calls of a transaction, each as a trace of its own; null where there is no such transaction.',
  cost: 'heavy',
  params: [required('hash', hash)],
  handle: (context, hash) => context.core.stream('traceTransaction', { hash, config: parity(context, { form: 'localized' }) }),
})
