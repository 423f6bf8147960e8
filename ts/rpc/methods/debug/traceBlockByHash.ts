// debug_traceBlockByHash: Traces of all transactions of a block, canonical or not.
import { hash, traceConfig, underRules } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const traceBlockByHash = method({
  name: 'debug_traceBlockByHash',
  doc: 'Traces of all transactions of a block, canonical or not.',
  cost: 'heavy',
  params: [required('hash', hash), optional('config', traceConfig)],
  handle: ({ core, trace, warn }, hash, config) => core.stream('traceBlockByHash', { hash, config: underRules(config, trace, { warn }) }),
})
