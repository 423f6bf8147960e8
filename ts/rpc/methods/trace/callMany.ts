// trace_callMany: Calls one after the other, each on what those before it left.
import { blockRef, typedCalls } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceCallManyParts = method({
  name: 'trace_callMany',
  doc: 'Calls with the parts wanted of each, one after the other: every call sees what those before it left.',
  cost: 'heavy',
  params: [required('calls', typedCalls), optional('block', blockRef)],
  handle: (context, calls, block) => context.core.stream('parityCalls', { calls, block, list: true, config: parity(context, {}) }),
})
