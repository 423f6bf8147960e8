// trace_replayTransaction: A transaction again, with the requested parts; null if there is no such
// transaction.
import { hash, traceTypes } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceReplayTransaction = method({
  name: 'trace_replayTransaction',
  doc: 'Traces a transaction: output, and the requested ones of calls (trace), state changes (stateDiff) and instructions (vmTrace); null if it does not exist.',
  result: '`{output, stateDiff, trace, vmTrace, transactionHash}`, or `null`',
  cost: 'heavy',
  params: [required('hash', hash), required('types', traceTypes)],
  handle: (context, hash, types) => context.core.stream('traceTransaction', { hash, config: parity(context, { types, withHash: true }) }),
})
