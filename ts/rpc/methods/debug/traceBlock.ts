// debug_traceBlock: Traces all transactions of a block given as RLP, whose parent must be known.
import { data, traceConfig, underRules } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const traceBlock = method({
  name: 'debug_traceBlock',
  doc: 'Traces all transactions of a block given as RLP, whose parent must be known.',
  result: '`{txHash, result or error}`[]',
  cost: 'heavy',
  params: [required('block', data), optional('config', traceConfig)],
  handle: ({ core, trace, warn }, rlp, config) => core.stream('traceBlock', { rlp, config: underRules(config, trace, { warn }) }),
})
