// trace_callMany: Calls one after the other, each on what those before it left.
import { blockRef, typedCalls } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceCallManyParts = method({
  name: 'trace_callMany',
  doc: 'Replays calls one after the other, each on the state that the ones before left, with the requested parts of each.',
  result: '`{output, stateDiff, trace, vmTrace}`[]',
  cost: 'heavy',
  params: [required('calls', typedCalls), optional('block', blockRef)],
  handle: (context, calls, block) => context.core.stream('parityCalls', { calls, block, list: true, config: parity(context, {}) }),
})
