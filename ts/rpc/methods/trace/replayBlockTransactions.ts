// trace_replayBlockTransactions: Every transaction of a block as trace_replayTransaction.
import { blockNumber, traceTypes } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceReplayBlockTransactions = method({
  name: 'trace_replayBlockTransactions',
  doc: 'Traces every transaction of a block: output, and the requested ones of calls (trace), state changes (stateDiff) and instructions (vmTrace).',
  result: '`{output, stateDiff, trace, vmTrace, transactionHash}`[]',
  cost: 'heavy',
  params: [required('block', blockNumber), required('types', traceTypes)],
  handle: (context, block, types) =>
    context.core.stream('traceBlockByNumber', { block, config: parity(context, { types, withHash: true, elements: 'plain' }) }),
})
