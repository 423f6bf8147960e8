// debug_traceBlockByNumber: Traces all transactions of a block.
import { blockNumber, traceConfig, underRules } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const traceBlockByNumber = method({
  name: 'debug_traceBlockByNumber',
  doc: 'Traces all transactions of a block.',
  result: '`{txHash, result or error}`[]',
  cost: 'heavy',
  params: [required('block', blockNumber), optional('config', traceConfig)],
  handle: ({ core, trace, warn }, block, config) =>
    core.stream('traceBlockByNumber', { block, config: underRules(config, trace, { warn }) }),
})
