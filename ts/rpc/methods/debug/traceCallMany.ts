// debug_traceCallMany: Traces bundles of calls, each call on the state that the ones before left;
// returns a list for each bundle.
import { allWithinLimits, bundles, CALL_OPTIONS, callConfig, callContext, underRules } from '../../codec/index.ts'
import { method, optional, required } from '../../method.ts'

const NOTHING = { stateOverrides: undefined, blockOverrides: undefined, config: undefined }

export const traceCallMany = method({
  name: 'debug_traceCallMany',
  doc: 'Traces bundles of calls, each call on the state that the ones before left; returns a list for each bundle.',
  result: 'a list of traces for each bundle',
  cost: 'heavy',
  params: [required('bundles', bundles), optional('context', callContext), optional('config', callConfig)],
  handle: ({ core, trace, overrides, warn }, bundles, context, given) => {
    const { stateOverrides, blockOverrides, config } = { ...NOTHING, ...given }
    const { block, transactionIndex } = { block: undefined, transactionIndex: undefined, ...context }
    allWithinLimits([stateOverrides, ...bundles.map((bundle) => bundle.stateOverrides)], overrides)
    const asked = { bundles, block, transactionIndex, stateOverrides, blockOverrides }
    return core.stream('traceCallMany', { ...asked, config: underRules(config, trace, { warn, more: CALL_OPTIONS }) })
  },
})
