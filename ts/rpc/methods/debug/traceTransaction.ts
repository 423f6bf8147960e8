// debug_traceTransaction: Traces one transaction of the canonical chain.
import { hash, traceConfig, underRules } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

export const traceTransaction = method({
  name: 'debug_traceTransaction',
  doc: 'Traces one transaction of the canonical chain.',
  result: 'trace of the [tracer](tracing.md#which-tracer-answers-which-question)',
  cost: 'heavy',
  params: [required('hash', hash), optional('config', traceConfig)],
  handle: ({ core, trace, warn }, hash, config) => core.stream('traceTransaction', { hash, config: underRules(config, trace, { warn }) }),
})
