// debug_traceBlockByHash: Traces all transactions of a block by its hash, canonical or not.
import { hash, traceConfig, underRules } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const traceBlockByHash = method({
  name: 'debug_traceBlockByHash',
  doc: 'Traces all transactions of a block by its hash, canonical or not.',
  result: '`{txHash, result or error}`[]',
  cost: 'heavy',
  params: [required('hash', hash), optional('config', traceConfig)],
  handle: ({ core, trace, warn }, hash, config) => core.stream('traceBlockByHash', { hash, config: underRules(config, trace, { warn }) }),
})
