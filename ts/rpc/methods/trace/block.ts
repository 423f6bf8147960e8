// trace_block: The calls of all transactions of a block, each as a trace, and the block's rewards
// before the merge.
import { blockNumber } from '../../codec/index.ts'
import { method, required } from '../../method.ts'
import { parity } from '../../parity.ts'

export const traceBlockCalls = method({
  name: 'trace_block',
  doc: "The calls of all transactions of a block, each as a trace of its own, then the block's rewards before the merge; null where there is no such block.",
  result: 'trace[], or `null`',
  cost: 'heavy',
  params: [required('block', blockNumber)],
  handle: (context, block) =>
    context.core.stream('traceBlockByNumber', { block, config: parity(context, { form: 'localized', elements: 'joined' }) }),
})
