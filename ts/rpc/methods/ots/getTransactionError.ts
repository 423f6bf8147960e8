// ots_getTransactionError: The data with which a transaction reverted; `0x` if it did not.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const otsTransactionError = method({
  name: 'ots_getTransactionError',
  doc: 'The data with which a transaction reverted; `0x` if it did not.',
  result: 'data',
  cost: 'heavy',
  params: [required('hash', hash)],
  handle: (context, hash) => context.core.stream('traceTransaction', { hash, config: parity(context, { form: 'failure' }) }),
})
