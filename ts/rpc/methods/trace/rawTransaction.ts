// trace_rawTransaction: A signed transaction on the state of the head, with the requested parts; it
// is not sent.
import { data, traceTypes } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceRawTransaction = method({
  name: 'trace_rawTransaction',
  doc: 'Traces a signed transaction on the head, without sending it: output, and the requested ones of calls (trace), state changes (stateDiff) and instructions (vmTrace).',
  result: '`{output, stateDiff, trace, vmTrace}`',
  cost: 'heavy',
  params: [required('raw', data), required('types', traceTypes)],
  handle: (context, raw, types) =>
    context.core.stream('parityCalls', { calls: [{ raw, types }], block: undefined, list: false, config: parity(context, {}) }),
})
