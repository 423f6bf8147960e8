// ots_traceTransaction: The calls of a transaction as a list, each with its depth.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const otsTraceTransaction = method({
  name: 'ots_traceTransaction',
  doc: 'The calls of a transaction as a list, each with its depth.',
  result: '`{type, depth, from, to, value, input, output}`[]',
  cost: 'heavy',
  params: [required('hash', hash)],
  handle: (context, hash) => context.core.stream('traceTransaction', { hash, config: parity(context, { form: 'calls' }) }),
})
