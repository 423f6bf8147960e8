// debug_traceBadBlock: Traces all transactions of a block that this node refused.
import { hash, traceConfig, underRules } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const traceBadBlock = method({
  name: 'debug_traceBadBlock',
  doc: 'Traces all transactions of a block that this node refused.',
  result: '`{txHash, result or error}`[]',
  cost: 'heavy',
  params: [required('hash', hash), optional('config', traceConfig)],
  handle: ({ core, trace, warn }, hash, config) => core.stream('traceBadBlock', { hash, config: underRules(config, trace, { warn }) }),
})
