// trace_call: A call on the state after a block, with the parts that are asked for.
import { blockRef, traceTypes, transaction } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceCallParts = method({
  name: 'trace_call',
  doc: 'Output, calls (trace), changes of state (stateDiff) and instructions (vmTrace) of a call on the state after a block, as requested.',
  cost: 'heavy',
  params: [required('transaction', transaction), required('types', traceTypes), optional('block', blockRef)],
  handle: (context, transaction, types, block) =>
    context.core.stream('parityCalls', { calls: [{ transaction, types }], block, list: false, config: parity(context, {}) }),
})
