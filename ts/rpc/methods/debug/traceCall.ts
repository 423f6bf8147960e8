// debug_traceCall: Traces a call on the state after a block, in the environment of that block; with
// `txIndex` in the configuration, before that transaction.
import { blockRef, CALL_OPTIONS, callConfig, transaction, underRules, withinLimits } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

const NOTHING = { txIndex: undefined, stateOverrides: undefined, blockOverrides: undefined, config: undefined }

export const traceCall = method({
  name: 'debug_traceCall',
  doc: 'Traces a call on the state after a block, in the environment of that block; with `txIndex` in the configuration, before that transaction.',
  result: 'trace of the [tracer](tracing.md#which-tracer-answers-which-question)',
  cost: 'heavy',
  params: [required('transaction', transaction, {}), required('block', blockRef), optional('config', callConfig)],
  handle: ({ core, trace, overrides, warn }, transaction, block, given) => {
    const { txIndex, stateOverrides, blockOverrides, config } = { ...NOTHING, ...given }
    return core.stream('traceCall', {
      transaction,
      block,
      txIndex,
      stateOverrides: withinLimits(stateOverrides, overrides),
      blockOverrides,
      config: underRules(config, trace, { warn, more: CALL_OPTIONS }),
    })
  },
})
