// trace_rawTransaction: A signed transaction on the state of the head, with the parts that are asked for; it is not sent.
import { data, traceTypes } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceRawTransaction = method({
  name: 'trace_rawTransaction',
  doc: 'Output, calls (trace), changes of state (stateDiff) and instructions (vmTrace) of a signed transaction on the head, as requested; it is not sent.',
  cost: 'heavy',
  params: [required('raw', data), required('types', traceTypes)],
  handle: (context, raw, types) =>
    context.core.stream('parityCalls', { calls: [{ raw, types }], block: undefined, list: false, config: parity(context, {}) }),
})
