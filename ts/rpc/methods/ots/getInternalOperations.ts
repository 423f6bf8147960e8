// ots_getInternalOperations: The value that moved within a transaction: transfers, self-destructs,
// creations.
import { hash } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const otsInternalOperations = method({
  name: 'ots_getInternalOperations',
  doc: 'The value transfers within a transaction, in order: transfers (0), self-destructs (1), CREATE (2) and CREATE2 (3).',
  result: '`{type, from, to, value}`[]',
  cost: 'heavy',
  params: [required('hash', hash)],
  handle: (context, hash) => context.core.stream('traceTransaction', { hash, config: parity(context, { form: 'operations' }) }),
})
