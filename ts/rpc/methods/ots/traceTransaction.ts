// ots_traceTransaction: Every call of a transaction with its depth, as a list.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const otsTraceTransaction = method({
  name: 'ots_traceTransaction',
  doc: 'Every call of a transaction with its depth, as a list.',
  cost: 'heavy',
  params: [required('hash', hash)],
  handle: (context, hash) => context.core.stream('traceTransaction', { hash, config: parity(context, { form: 'calls' }) }),
})
