// trace_call: A call on the state after a block, with the requested parts.
import { blockRef, traceTypes, transaction } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceCallParts = method({
  name: 'trace_call',
  doc: 'Traces a call on the state after a block: output, and the requested ones of calls (trace), state changes (stateDiff) and instructions (vmTrace).',
  result: '`{output, stateDiff, trace, vmTrace}`',
  cost: 'heavy',
  params: [required('transaction', transaction), required('types', traceTypes), optional('block', blockRef)],
  handle: (context, transaction, types, block) =>
    context.core.stream('parityCalls', { calls: [{ transaction, types }], block, list: false, config: parity(context, {}) }),
})
